"""`fans crossval` step by step: folds, cells, report."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fansrec.data.corpus import fingerprint, read_corpus
from fansrec.data.folds import assign_folds
from fansrec.errors import Unfinished
from fansrec.evaluation.drawing import LIGHT, new_figure, png, tidy
from fansrec.experiments.crossval.cross_validation import EVALUATIONS, CrossValidation, Split, has_fold, start_split
from fansrec.experiments.crossval.folds import fold_jobs
from fansrec.experiments.crossval.report import write_result
from fansrec.experiments.crossval.results import METRICS
from fansrec.experiments.crossval.systems import System, check_systems
from fansrec.experiments.pool import Job, Progress, run_jobs
from fansrec.files import write_bytes


def default_folder(corpus: Path, folds: int | None, seed: int) -> Path:
    """Return a folder beside the corpus that is named after the number of folds and the seed."""
    name = "as-is" if folds is None else f"{folds}-folds-seed-{seed}"
    return corpus.parent / f"{corpus.resolve().name}-crossval" / name


def start(
    source: Path,
    folder: Path,
    folds: int | None,
    seed: int,
    fold_numbers: Sequence[int],
    systems: Sequence[System],
    seeds: Sequence[int],
    part: str,
    progress: Progress,
) -> CrossValidation:
    """Check all options before the first fold is made, and start the folder; without `folds`, the corpus is one."""
    corpus = read_corpus(source)
    check_systems(systems, corpus)
    if folds is not None:
        assign_folds(len(corpus), folds, seed, corpus.groups)
    split = Split(source.resolve().name, fingerprint(corpus), folds, None if folds is None else seed)
    selected = split.select(fold_numbers)
    start_split(folder, split)
    split_by = corpus.summary.get("preparation", {}).get("split_by")
    if folds is not None and split_by is not None and corpus.groups is None:
        progress.say(
            "the corpus was split by groups, but an earlier version did not store them: lists are assigned to folds "
            "one by one; prepare it again to keep groups in one fold"
        )
    return CrossValidation(folder, split, selected, systems, seeds, part)


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
        jobs = fold_jobs(corpus, validation.folder, validation.split, validation.folds)
        if run_jobs("folds", jobs, workers, progress):
            raise Unfinished("some folds could not be made; fix the errors above and run the same command again")
    unfinished: list[Job] = []
    if only in (None, "cells"):
        unfinished = validation.run_cells(progress, workers, keep_weights, time_limit)
    for job in unfinished:
        progress.say(f"not finished: {job.title}")
    return unfinished


def report(validation: CrossValidation, path: Path) -> dict[str, Any]:
    """Write JSON, Markdown and a plot under the same name; folds that are not made are left out."""
    present = [fold for fold in validation.folds if has_fold(validation.folder, fold)]
    result = write_result(replace(validation, folds=present), path)
    write_bytes(path.with_suffix(".png"), draw(result))
    return result


def draw(result: dict[str, Any]) -> bytes:
    """Return a plot of NDCG@5 of every system with its interval, one panel per evaluation."""
    systems = [row["system"] for row in result["systems"]]
    figure = new_figure(5 * len(EVALUATIONS), 1.2 + 0.4 * len(systems))
    for panel, (name, evaluation) in enumerate(EVALUATIONS.items(), 1):
        axes = figure.add_subplot(1, len(EVALUATIONS), panel)
        for row in result["figures"]:
            if row["way"] != name or row["metric"] != METRICS[0] or row["mean"] is None:
                continue
            y = systems.index(row["system"])
            axes.barh(y, row["mean"], height=0.7, color=LIGHT.bars[evaluation.protocol.name])
            axes.plot(row["interval"], [y, y], color=LIGHT.ink, linewidth=1.4, marker="|", markersize=7)
        axes.set_yticks(range(len(systems)), systems if panel == 1 else [""] * len(systems), parse_math=False)
        axes.invert_yaxis()
        axes.set_title(f"{METRICS[0]}, {name}", fontsize=11)
        tidy(axes, LIGHT)
    return png(figure)
