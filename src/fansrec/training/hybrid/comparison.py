"""Compare the trained hybrid model with simple models, on test lists: they were not used in training.

The others have their default settings here; `--model ease --recipe best` searches them.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.data.corpus import Corpus
from fansrec.engine.torch.backend import TorchEngine
from fansrec.evaluation.bootstrap import interval
from fansrec.evaluation.protocol import (
    MAX_CUTOFF,
    METRICS,
    EvaluationLists,
    evaluation_lists,
    list_metrics,
    mean,
    predict,
)
from fansrec.models.registry import build, command_name, has_best
from fansrec.models.threads import map_in_threads
from fansrec.training.hybrid.metrics import LISTS_AT_ONCE, PROTOCOL
from fansrec.training.plan import Plan
from fansrec.training.reporting import Reporter

FIRST = METRICS[0]  # the metric that decides which model is better
LISTS = 10_000  # at most are evaluated, evenly spread

Comparison = dict[str, Any]  # plain values for JSON
Figures = dict[str, NDArray[np.float64]]  # of every list, by metric


def compare(plan: Plan, network: Any, corpus: Corpus, reporter: Reporter) -> Comparison | None:
    """Return the content of the table, or None without test lists: all others were used in training."""
    of = len(corpus.part("test"))
    if not of:
        return None
    asked, items = evaluation_lists(corpus, "test", LISTS), len(corpus.vocabulary)
    lists = corpus.flat("train", "valid")  # as for the hybrid model's own parts
    reporter.message("comparing it with popularity, item-kNN, EASE and SLIST")
    rows, figures = [], []
    for model, settings in rivals(len(lists[0]), items):
        rival = build(model, {"category_starts": plan.config["category_starts"], **settings})
        rival.fit(*lists)
        figures.append(_figures(rival, asked, items))
        rows.append(_row(model, rival.title, settings, figures[-1]))
    ours = _figures(network, asked, items)
    best = int(np.argmax([row[FIRST] for row in rows]))
    return {
        "lists": len(asked.inputs),
        "of": of,
        "protocol": PROTOCOL.name,
        "rows": [*rows, _row(command_name(plan.model), plan.variant, {}, ours)],
        "against": rows[best]["model"],
        "differences": _differences(ours, figures[best]),
    }


def regularization(interactions: int, items: int) -> float:
    """Return a lambda for EASE without a search: it grows with the mean number of occurrences of an item."""
    return 100.0 + 2.0 * interactions / items


def rivals(interactions: int, items: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the other models with their settings."""
    yield "popularity", {}
    yield "item-knn", {}
    yield "ease", {"regularization": round(regularization(interactions, items), 1)}
    yield "slist", {}


def better(found: Comparison) -> str | None:
    """Return the name of a model that is better than the trained one, or None."""
    by = {row["model"]: row[FIRST] for row in found["rows"][:-1]}
    return found["against"] if by[found["against"]] > found["rows"][-1][FIRST] else None


def cells(found: Comparison) -> list[list[str]]:
    """Return the rows of the table, the headings first."""
    table = [["", *METRICS]]
    for row in found["rows"]:
        name = ", ".join([row["title"], *(f"{setting} {value:g}" for setting, value in row["settings"].items())])
        table.append([name, *(f"{row[metric]:.4f}" for metric in METRICS)])
    return table


def headline(found: Comparison) -> str:
    """Return which lists were evaluated, and how."""
    lists = f"{found['lists']:,}" + (f" of {found['of']:,}" if found["lists"] < found["of"] else "")
    return f"On {lists} test lists; 10 items, those of the input excluded (protocol {found['protocol']})"


def verdict(found: Comparison) -> list[str]:
    """Return the differences to the best of the others, list by list, and a warning if that one is better."""
    rival, ours = next(row for row in found["rows"] if row["model"] == found["against"]), found["rows"][-1]
    lines = [f"{ours['title']} minus {rival['title']}, list by list, with 95% intervals:"]
    for metric, one in found["differences"].items():
        low, high = one["interval"]
        lines.append(f"{metric} {one['difference']:+.4f} [{low:+.4f}, {high:+.4f}]")
    if better(found):
        figures = f"{FIRST} {rival[FIRST]:.4f} against {ours[FIRST]:.4f}"
        unsure = ", although the interval contains 0" if found["differences"][FIRST]["interval"][1] >= 0 else ""
        lines.append(f"{rival['title']} is better than {ours['title']} on these lists: {figures}{unsure}")
    elif found["differences"][FIRST]["interval"][0] <= 0:
        lines.append(f"the difference in {FIRST} is not significant on these lists")
    return lines


def report(found: Comparison, corpus: Path, out: Path, reporter: Reporter) -> None:
    """Report the comparison, with the command that trains the other model if that is better."""
    reporter.message(headline(found))
    for line in _aligned(cells(found)):
        reporter.message(line)
    for line in verdict(found):
        reporter.message(line)
    other = better(found)
    if other is not None:
        reporter.message(f"to train and serve that one instead: {command(other, corpus, out)}")


def command(model: str, corpus: Path, out: Path) -> str:
    """Return the command that trains `model` beside `out`."""
    recipe = ["--recipe", "best"] if has_best(model) else []
    return shlex.join(["fans", "train", str(corpus), "--model", model, *recipe, "--out", f"{out}-{model}"])


def _figures(network: Any, asked: EvaluationLists, items: int) -> Figures:
    engine, step = TorchEngine(network.eval(), items), -(-len(asked.inputs) // LISTS_AT_ONCE)
    answers = np.empty((len(asked.inputs), MAX_CUTOFF), dtype=np.int64)

    def answer(first: int) -> None:
        answers[first::step] = predict(engine, asked.every(step, first), PROTOCOL)

    map_in_threads(answer, range(step))
    return list_metrics(answers, asked, PROTOCOL)


def _row(model: str, title: str, settings: Mapping[str, Any], figures: Figures) -> dict[str, Any]:
    return {"model": model, "title": title, "settings": settings} | {name: mean(figures[name]) for name in METRICS}


def _differences(ours: Figures, theirs: Figures) -> dict[str, Any]:
    apart = {metric: ours[metric] - theirs[metric] for metric in METRICS}
    return {metric: {"difference": mean(one), "interval": interval(one)} for metric, one in apart.items()}


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        f"{name:<{widths[0]}}" + "".join(f"  {cell:>{width}}" for cell, width in zip(row, widths[1:], strict=True))
        for name, *row in table
    ]
