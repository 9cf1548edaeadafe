"""Trained models evaluated on the same lists and compared list by list: `fansrec.evaluate(RUNS, CORPUS)`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fansrec.data.corpus import PARTS, Corpus, read_corpus
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting, missing_extras
from fansrec.evaluation.breakdown import breakdown_part
from fansrec.evaluation.compared_rows import Results, compared_rows
from fansrec.evaluation.controls import evaluation_rules
from fansrec.evaluation.diversity import training_counts
from fansrec.evaluation.examples import examples_part
from fansrec.evaluation.metrics import PAPER, STANDARD
from fansrec.evaluation.protocol import CUTOFFS, METRICS, QUALITY, Protocol
from fansrec.evaluation.protocol import protocol as protocol_by_name
from fansrec.evaluation.rows import Row, measure_run, open_run, with_items_of

Progress = Callable[[str, int, int], object]  # what is evaluated, finished lists, all lists

EXAMPLES = 3


@missing_extras()
def evaluate(
    runs: str | Path | Sequence[str | Path],
    corpus: str | Path | Corpus,
    *,
    at: int | Iterable[int] = CUTOFFS,
    by: str = METRICS[0],
    part: str = "test",
    protocol: str = "both",
    input: str | None = None,
    masks: str | None = None,
    given: int | Iterable[int] = (),
    generation: str | None = None,
    fill: str = Rules.fill,
    diversity: float = 0.0,
    popularity: float = 0.0,
    freshness: float = 0.0,
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
        diversity: How much the items of an answer are to differ, 0 to 1; the other two are re-ranking as well.
        popularity: -1 to 1: below 0 prefers niche items, above 0 popular ones.
        freshness: How much items with a late date are preferred, 0 to 1; needs dates of items.
        device: cpu or cuda.
        backend: auto, torch, native or cuda; by default the fastest one in full precision.
        examples: Number of lists whose continuations are in the rows by name.
        html: File to which a report is written.
        progress: Called with the run and the protocol, the finished lists and all lists.

    Returns:
        A dictionary for each run and protocol: names, metrics with intervals, differences from the best run.

    Examples:
        >>> import fansrec
        >>> [row] = fansrec.evaluate("runs/mine", "corpora/mine", protocol="standard")
        >>> row["model"], row["lists"], 0 <= row["NDCG@5"] <= 1
        ('vstan', 6, True)
    """
    if html is not None:
        from fansrec.evaluation.report import write_report  # first, so that a missing extra is reported before the work
    folders = run_names([runs] if isinstance(runs, str | Path) else runs)
    at, given = _integers("at", at), _integers("given", given)
    _integers("examples", examples, least=0)
    _check_metric(by, at)
    if part not in PARTS:
        raise BadSetting(f"--part is {part!r}; it must be {', '.join(PARTS[:-1])} or {PARTS[-1]}")
    names = (STANDARD, PAPER) if protocol == "both" else (protocol,)
    protocols = [protocol_by_name(name, input, masks, n, max(*CUTOFFS, *at)) for name in names for n in (None, *given)]
    prepared = corpus if isinstance(corpus, Corpus) else read_corpus(Path(corpus))
    controls = {"diversity": diversity, "popularity": popularity, "freshness": freshness}
    for folder in folders.values():  # all are checked before the first is evaluated, so no work is wasted
        evaluation_rules(open_run(folder, prepared, generation), protocols[0], fill, controls)
    settings: dict[str, Any] = {"part": part, "fill": fill, "device": device, "backend": backend, "at": at}
    settings["controls"] = controls
    results, configs = _measure(folders, prepared, protocols, generation, settings, examples, progress)
    rows = [*compared_rows(results, by)]
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


def _integers(name: str, given: int | Iterable[int], least: int = 1) -> list[int]:
    """Return distinct integers in ascending order."""
    numbers = [*given] if isinstance(given, Iterable) else [given]
    for number in numbers:
        if not isinstance(number, int | np.integer) or number < least:
            raise BadSetting(f"--{name} {number!r} is not an integer of at least {least}")
    if name == "at" and not numbers:
        raise BadSetting("--at has no positions; give at least one, such as 10")
    return sorted({*map(int, numbers)})


def _check_metric(by: str, at: Sequence[int]) -> None:
    known = [f"{name}@{n}" for n in sorted({*CUTOFFS, *at}) for name in QUALITY]
    if by not in known:
        raise BadSetting(f"--by {by!r} is not a metric to compare by; choose one of {', '.join(known)}")


def _measure(
    folders: Mapping[str, Path],
    corpus: Corpus,
    protocols: Sequence[Protocol],
    generation: str | None,
    settings: Mapping[str, Any],
    examples: int,
    progress: Progress,
) -> tuple[Results, dict[str, Any]]:
    """Return what every run has under every protocol, timed if its inputs are whole, and the runs' configurations."""
    results: Results = {one: {} for one in protocols}
    configs = {}
    for name, folder in folders.items():
        artifact = open_run(folder, corpus, generation)
        configs[name] = artifact.config
        own = with_items_of(artifact, corpus)
        known = training_counts(own)
        for one in protocols:
            report = partial(progress, f"{name}, {one.name}" + (f", {one.given} given" if one.given else ""))
            options = {**settings, "generation": generation, "progress": report, "timed": one.given is None}
            found = measure_run(artifact, own, one, **options)
            row = found.row | {"run": name}
            if one.given is None:
                row["breakdown"] = breakdown_part(found.metrics, found.lists, one, known)
                row["examples"] = examples_part(found.answers, found.lists, own.vocabulary, examples)
            results[one][name] = row, found.metrics
    return results, configs
