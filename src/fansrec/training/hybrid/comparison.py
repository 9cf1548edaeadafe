"""Compare the trained hybrid model with fast models, on test lists: they were not used in training or in a search.

The settings of the others are searched on the validation lists, each within the same time; like the parts of the hybrid
model, they are then fitted to training and validation lists.
"""

import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.data.corpus import Corpus
from fansrec.engine.torch.backend import TorchEngine
from fansrec.evaluation.paired import Ranking, paired_differences, rank
from fansrec.evaluation.protocol import (
    MAX_CUTOFF,
    METRICS,
    EvaluationLists,
    evaluation_lists,
    list_metrics,
    mean,
    predict,
)
from fansrec.evaluation.recommendation import costs, reasons, recommend
from fansrec.models.registry import command_name, has_best
from fansrec.models.threads import map_in_threads
from fansrec.training.grid_search import candidates, fit_again, search
from fansrec.training.hybrid.metrics import LISTS_AT_ONCE, PROTOCOL
from fansrec.training.plan import Plan, Trained, make_plan
from fansrec.training.reporting import NULL_REPORTER, Reporter, format_values

FIRST = METRICS[0]  # the metric that decides which model is better
LISTS = 10_000  # at most are evaluated, evenly spread
RIVALS = ("popularity", "item-knn", "ease", "slist", "vstan")
# The time in which the settings of each of the others are searched: a share of the training time, within these seconds.
SHARE, LEAST_SECONDS, MOST_SECONDS = 0.1, 10.0, 120.0

Comparison = dict[str, Any]  # plain values for JSON
Figures = dict[str, NDArray[np.float64]]  # of every list, by metric


def search_seconds(training_seconds: float) -> float:
    """Return how long the settings of each of the other models may be searched."""
    return min(MOST_SECONDS, max(LEAST_SECONDS, SHARE * training_seconds))


def compare(plan: Plan, network: Any, corpus: Corpus, reporter: Reporter, seconds: float) -> Comparison | None:
    """Return the content of the table, or None without test lists: all others were used in training.

    The settings of each of the other models are searched for at most `seconds`.
    """
    of = len(corpus.part("test"))
    if not of:
        return None
    asked, started = evaluation_lists(corpus, "test", LISTS), time.monotonic()
    reporter.message(f"searching the settings of {len(RIVALS) - 1} other models for at most {seconds:.0f} s each")
    rows, figures = [], {}
    for model, rival in rivals(corpus, seconds):
        figures[model] = _figures(rival.network, asked)
        rows.append(_row(model, rival, figures[model]))
        reporter.message(_search_message(rows[-1]))
    ours = command_name(plan.model)
    figures[ours] = _figures(network, asked)
    rows.append(_row(ours, Trained(plan, network), figures[ours], title=plan.variant))
    ranking = rank({model: values[FIRST] for model, values in figures.items()})
    against = next(model for model in ranking.order if model != ours)
    return {
        "lists": len(asked.inputs),
        "of": of,
        "protocol": PROTOCOL.name,
        "seconds": round(time.monotonic() - started, 1),
        "search_seconds": round(seconds, 1),
        "rows": rows,
        "against": against,
        "differences": _differences(figures[ours], figures[against]),
        **_recommendation(ranking, rows, len(asked.inputs)),
    }


def rivals(corpus: Corpus, seconds: float) -> Iterator[tuple[str, Trained]]:
    """Yield the other models by name, with the best settings on the validation lists, if there are any."""
    for model in RIVALS:
        recipe = "best" if has_best(model) and len(corpus.part("valid")) else "paper"
        plan = make_plan(model, {"recipe": recipe}, corpus)
        if recipe == "best":
            yield model, search(plan, corpus, corpus.flat("train"), NULL_REPORTER, seconds)
        else:
            yield model, fit_again(plan, corpus, {}, [])


def _recommendation(ranking: Ranking, rows: Sequence[Mapping[str, Any]], lists: int) -> Comparison:
    """Return the recommended model, those that are not significantly worse than the best, and the reasons."""
    models = {row["model"]: row["model"] for row in rows}
    chosen = recommend(ranking, costs(models, {}), lists)
    titles = {row["model"]: row["title"] for row in rows}
    why = list(reasons(ranking, chosen, FIRST, lists, titles))
    return {"recommended": chosen, "as_good_as_the_best": ranking.as_good, "reasons": why}


def _search_message(row: Mapping[str, Any]) -> str:
    found = f": {row['tried']} of {row['of']} settings in {row['seconds']:.1f} s" if row["of"] else ""
    return f"{row['title']}{found}, {FIRST} {row[FIRST]:.4f}"


def cells(found: Comparison) -> list[list[str]]:
    """Return the rows of the table, the headings first."""
    table = [["", *METRICS, "settings tried", "settings"]]
    for row in found["rows"]:
        tried = f"{row['tried']} of {row['of']}, {row['seconds']:.1f} s" if row["of"] else ""
        figures = [f"{row[metric]:.4f}" for metric in METRICS]
        table.append([row["title"], *figures, tried, format_values(row["settings"])])
    return table


def headline(found: Comparison) -> str:
    """Return which lists were evaluated, and how."""
    lists = f"{found['lists']:,}" + (f" of {found['of']:,}" if found["lists"] < found["of"] else "")
    return (
        f"On {lists} test lists; 10 items, those of the input excluded (protocol {found['protocol']}). Settings of the "
        f"others were searched on the validation lists for at most {found['search_seconds']:.0f} s each; "
        f"all took {found['seconds']:.0f} s"
    )


def verdict(found: Comparison) -> list[str]:
    """Return the differences to the best of the others, list by list, and which model is recommended."""
    rival, ours = next(row for row in found["rows"] if row["model"] == found["against"]), found["rows"][-1]
    lines = [f"{ours['title']} minus {rival['title']}, list by list, with 95% intervals:"]
    for metric, one in found["differences"].items():
        low, high = one["interval"]
        lines.append(f"{metric} {one['difference']:+.4f} [{low:+.4f}, {high:+.4f}]")
    return [*lines, *found["reasons"]]


def report(found: Comparison, corpus: Path, out: Path, reporter: Reporter) -> None:
    """Report the comparison, with the command that trains another model if that is recommended."""
    reporter.message(headline(found))
    for line in _aligned(cells(found)):
        reporter.message(line)
    for line in verdict(found):
        reporter.message(line)
    if found["recommended"] != found["rows"][-1]["model"]:
        reporter.message(f"to train and serve that one instead: {command(found['recommended'], corpus, out)}")


def command(model: str, corpus: Path, out: Path) -> str:
    """Return the command that trains `model` beside `out`."""
    recipe = ["--recipe", "best"] if has_best(model) else []
    return shlex.join(["fans", "train", str(corpus), "--model", model, *recipe, "--out", f"{out}-{model}"])


def _figures(network: Any, asked: EvaluationLists) -> Figures:
    engine, step = TorchEngine(network.eval(), network.config.alphabet.items), -(-len(asked.inputs) // LISTS_AT_ONCE)
    answers = np.empty((len(asked.inputs), MAX_CUTOFF), dtype=np.int64)

    def answer(first: int) -> None:
        answers[first::step] = predict(engine, asked.every(step, first), PROTOCOL)

    map_in_threads(answer, range(step))
    return list_metrics(answers, asked, PROTOCOL)


def _row(model: str, trained: Trained, figures: Figures, title: str | None = None) -> dict[str, Any]:
    """Return a row of the table; `settings` are those that a search found."""
    searched = next(candidates(trained.plan.model)) if trained.tried else {}
    about = {
        "model": model,
        "title": title or trained.network.title,
        "settings": {name: trained.figures[name] for name in searched},
        "tried": len(trained.tried),
        "of": len(list(candidates(trained.plan.model))) if trained.tried else 0,
        "seconds": round(sum(row["seconds"] for row in trained.tried), 1),
    }
    return about | {name: mean(figures[name]) for name in METRICS}


def _differences(ours: Figures, theirs: Figures) -> dict[str, Any]:
    left, right = (np.stack([figures[metric] for metric in METRICS]) for figures in (ours, theirs))
    pairs = zip(METRICS, paired_differences(left, right), strict=True)
    return {metric: {"difference": one.mean, "interval": (one.low, one.high)} for metric, one in pairs}


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows as text: figures to the right, the last columns to the left."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    last = len(widths) - 2
    return [
        "  ".join(
            cell.rjust(width) if 0 < n < last else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
