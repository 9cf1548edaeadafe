"""Trained models evaluated on the same lists and compared list by list: `fansrec.evaluate(RUNS, CORPUS)`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fansrec.data.corpus import Corpus, read_corpus
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting
from fansrec.evaluation.breakdown import breakdown_part
from fansrec.evaluation.diversity import training_counts
from fansrec.evaluation.examples import examples_part
from fansrec.evaluation.metrics import PAPER, STANDARD, Floats
from fansrec.evaluation.paired import Ranking, paired_differences, rank, verdict
from fansrec.evaluation.protocol import CUTOFFS, METRICS, QUALITY, Protocol, cutoff
from fansrec.evaluation.protocol import protocol as protocol_by_name
from fansrec.evaluation.rows import Measured, Row, measure_run, open_run

Progress = Callable[[str, int, int], object]  # what is evaluated, finished lists, all lists
Folders = Mapping[str, Path]  # of the runs, by the name that their rows have

EXAMPLES = 3
NOT_COMPARED: Row = {
    "compared": 0,
    "place": None,
    "best": None,
    "significantly_worse": None,
    "verdict": None,
    "differences": {},
    "breakdown": [],
    "examples": [],
}


def evaluate(
    runs: str | Path | Sequence[str | Path],
    corpus: str | Path | Corpus,
    *,
    at: Sequence[int] = CUTOFFS,
    by: str = METRICS[0],
    part: str = "test",
    protocol: str = "both",
    input: str | None = None,
    masks: str | None = None,
    given: Sequence[int] = (),
    generation: str | None = None,
    fill: str = Rules.fill,
    device: str = "cpu",
    backend: str | None = None,
    examples: int = EXAMPLES,
    html: str | Path | None = None,
    progress: Progress = lambda title, done, total: None,
) -> list[Row]:
    """Return one row of metrics for each run and protocol: `standard` before `paper`, and the best run first.

    The rows are plain dictionaries, as `fans evaluate --json` writes them; `pandas.DataFrame(rows)` makes a table.
    NDCG@5, HR@5, NDCG@10 and HR@10 are always among the metrics, each with its 95% interval (`NDCG@5_ci`).

    Args:
        runs: Folders of trained models; all of them trained on `corpus`.
        corpus: The corpus folder, or the corpus read from it.
        at: Positions at which metrics are taken. Above 10, the protocol `standard` requests that many items.
        by: The metric that decides which run is better: NDCG, HR, recall, precision, MAP or MRR, at 5, 10 or one of
            `at`.
        part: Part of the corpus: test, valid or train.
        protocol: standard, paper or both.
        input: kept or excluded: whether answers may repeat items of the input. The protocol has a default.
        masks: target or 10: how many items are requested. The protocol has a default.
        given: Numbers of given items for which short inputs are evaluated too, in rows of their own.
        generation: one-pass, autoregressive or recall; by default each model's own.
        fill: How positions share the items: by-position, depth-first or arranged.
        device: cpu or cuda.
        backend: auto, torch, native or cuda; by default the fastest one in full precision.
        examples: Number of lists whose continuations are in the rows by name.
        html: File to which a report is written.
        progress: Called with the run and the protocol, the finished lists and all lists.
    """
    if html is not None:
        from fansrec.evaluation.report import write_report  # first, so that a missing extra is reported before the work
    folders = run_names([runs] if isinstance(runs, str | Path) else runs)
    _check_numbers(at=at, given=given, examples=[examples])
    at = sorted({*map(int, at)})
    _check_metric(by, at)
    names = (STANDARD, PAPER) if protocol == "both" else (protocol,)
    protocols = [
        protocol_by_name(n, input, masks, g, max([*CUTOFFS, *at])) for n in names for g in (None, *sorted({*given}))
    ]
    prepared = corpus if isinstance(corpus, Corpus) else read_corpus(Path(corpus))
    for folder in [*folders.values()][1:]:  # all are checked before the first is evaluated, so no work is wasted
        open_run(folder, prepared, generation)
    settings: dict[str, Any] = {"part": part, "fill": fill, "device": device, "backend": backend, "at": at}
    measured, configs = _measure(folders, prepared, protocols, generation, settings, progress)
    rows = [*_compared(measured, protocols, by, training_counts(prepared), prepared, examples)]
    if html is not None:
        write_report(Path(html), rows, configs, prepared.summary)
    return rows


def run_names(runs: Sequence[str | Path]) -> dict[str, Path]:
    """Return the folders by name: the last parts of their paths, as many as tell them apart."""
    folders = [Path(run) for run in runs]
    paths = [folder.resolve() for folder in folders]
    if not paths:
        raise BadSetting("there are no runs; give at least one folder of a trained model")
    if repeated := [folder for i, folder in enumerate(folders) if paths[i] in paths[:i]]:
        raise BadSetting(f"{repeated[0]} is given twice; give each run once")
    parts = 1
    while len({path.parts[-parts:] for path in paths}) < len(paths):
        parts += 1
    return {"/".join(path.parts[-parts:]): folder for path, folder in zip(paths, folders, strict=True)}


def _check_numbers(**options: Sequence[int]) -> None:
    for name, numbers in options.items():
        least = 0 if name == "examples" else 1
        for number in numbers:
            if not isinstance(number, int | np.integer) or number < least:
                raise BadSetting(f"--{name} {number!r} is not an integer of at least {least}")


def _check_metric(by: str, at: Sequence[int]) -> None:
    known = [f"{name}@{n}" for n in sorted({*CUTOFFS, *at}) for name in QUALITY]
    if by not in known:
        raise BadSetting(f"--by {by!r} is not a metric to compare by; choose one of {', '.join(known)}")


def _measure(
    folders: Folders,
    corpus: Corpus,
    protocols: Sequence[Protocol],
    generation: str | None,
    settings: Mapping[str, Any],
    progress: Progress,
) -> tuple[dict[tuple[Protocol, str], Measured], dict[str, Any]]:
    """Return what every run has under every protocol, timed if its inputs are whole, and the runs' configurations."""
    measured, configs = {}, {}
    for name, folder in folders.items():
        artifact = open_run(folder, corpus, generation)
        configs[name] = artifact.config
        for one in protocols:
            title = f"{name}, {one.name}" + (f", {one.given} given" if one.given else "")

            def report(done: int, total: int, title: str = title) -> None:
                progress(title, done, total)

            options = {**settings, "generation": generation, "progress": report, "timed": one.given is None}
            measured[one, name] = measure_run(artifact, corpus, one, **options)
            measured[one, name].row["run"] = name
    return measured, configs


def _compared(
    measured: Mapping[tuple[Protocol, str], Measured],
    protocols: Sequence[Protocol],
    by: str,
    known: Any,
    corpus: Corpus,
    examples: int,
) -> Iterator[Row]:
    """Yield the rows: in each protocol the best run first, each followed by its rows with short inputs."""
    for usual in (one for one in protocols if one.given is None):
        own = {name: found for (one, name), found in measured.items() if one == usual}
        ranking = rank({name: found.metrics[by] for name, found in own.items()})
        differences = _differences({name: own[name].metrics for name in ranking.order})
        for name in ranking.order:
            found = own[name]
            yield found.row | {
                "by": by,
                **_place(ranking, name, by),
                "differences": differences.get(name, {}),
                "breakdown": breakdown_part(found.metrics, found.lists, usual, known),
                "examples": examples_part(found.answers, found.lists, corpus.vocabulary, examples),
            }
            for one in protocols:
                if one.given is not None and one.name == usual.name:
                    yield measured[one, name].row | {"by": by, **NOT_COMPARED}


def _place(ranking: Ranking, name: str, by: str) -> Row:
    return {
        "compared": len(ranking.behind),  # other runs
        "place": ranking.order.index(name) + 1,
        "best": ranking.best,
        "significantly_worse": name not in ranking.as_good,
        "verdict": verdict(ranking, by),
    }


def _differences(metrics: Mapping[str, Mapping[str, Floats]]) -> dict[str, Row]:
    """Return by how much each run differs from the first one, by metric; the metrics at n are resampled together."""
    best, *others = metrics
    found: dict[str, Row] = {name: {} for name in others}
    for n in dict.fromkeys(map(cutoff, metrics[best])):
        pairs = [(name, metric) for name in others for metric in metrics[best] if cutoff(metric) == n]
        if pairs:
            left, right = (np.stack([metrics[run or name][metric] for name, metric in pairs]) for run in ("", best))
            for (name, metric), difference in zip(pairs, paired_differences(left, right), strict=True):
                found[name][metric] = difference.to_json()
    return found
