"""`fans crossval` step by step: folds, cells, report."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fansrec.data.corpus import fingerprint, read_corpus
from fansrec.errors import Unfinished
from fansrec.experiments.crossval.cross_validation import CrossValidation
from fansrec.experiments.crossval.drawing import draw
from fansrec.experiments.crossval.folds import assign_folds, fold_jobs
from fansrec.experiments.crossval.report import write_result
from fansrec.experiments.crossval.split import Split, has_fold, start_split
from fansrec.experiments.crossval.systems import System, check_systems
from fansrec.experiments.pool import Job, Progress, run_jobs


@dataclass(frozen=True)
class Options:
    """The options of the command."""

    corpus: Path
    out: Path | None
    folds: int | None  # None: the corpus's own split
    seed: int
    fold_numbers: list[int]
    systems: list[System]
    seeds: list[int]  # of training
    part: str

    @property
    def folder(self) -> Path:
        """`out`, or a folder beside the corpus that is named after the number of folds and the seed."""
        name = "as-is" if self.folds is None else f"{self.folds}-folds-seed-{self.seed}"
        return self.out or self.corpus.parent / f"{self.corpus.resolve().name}-crossval" / name


def start(options: Options, progress: Progress) -> CrossValidation:
    """Check all options before the first fold is made, and start the folder."""
    corpus = read_corpus(options.corpus)
    check_systems(options.systems, corpus)
    seed = None if options.folds is None else options.seed
    if options.folds is not None:
        assign_folds(len(corpus), options.folds, options.seed)
    split = Split(options.corpus.resolve().name, fingerprint(corpus), options.folds, seed)
    folds = split.select(options.fold_numbers)
    start_split(options.folder, split)
    if options.folds is not None and corpus.summary.get("preparation", {}).get("split_by") is not None:
        progress.say("the corpus was split by groups, which it does not store: lists are assigned to folds one by one")
    return CrossValidation(options.folder, split, folds, options.systems, options.seeds, options.part)


def run_steps(
    validation: CrossValidation,
    corpus: Path,
    progress: Progress,
    workers: int,
    only: str | None = None,
    keep_weights: bool = False,
    time_limit: float | None = None,
) -> list[Job]:
    """Make the folds and run the cells, or `only` one of the two; return the cells that failed or were stopped."""
    if only != "report":
        _make_folds(validation, corpus, progress, workers)
    unfinished: list[Job] = []
    if only in (None, "cells"):
        unfinished = validation.run_cells(progress, workers, keep_weights, time_limit)
    for job in unfinished:
        progress.say(f"not finished: {job.title}")
    return unfinished


def _make_folds(validation: CrossValidation, corpus: Path, progress: Progress, workers: int) -> None:
    jobs = fold_jobs(corpus, validation.folder, validation.split, validation.folds)
    if run_jobs("folds", jobs, workers, progress):
        raise Unfinished("some folds could not be made; fix the errors above and run the same command again")


def report(validation: CrossValidation, path: Path) -> dict[str, Any]:
    """Write JSON, Markdown and a plot under the same name; folds that are not made are left out."""
    present = [fold for fold in validation.folds if has_fold(validation.folder, fold)]
    result = write_result(replace(validation, folds=present), path)
    draw(result, path.with_suffix(".png"))
    return result
