"""`fans crossval`: systems compared over all lists of a corpus."""

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from fansrec.cli.options import (
    Corpus,
    ExperimentDevice,
    Force,
    ParallelRuns,
    check_result,
    check_writable,
    execution_option,
    path_option,
    usable_device,
)
from fansrec.cli.progress_bars import JobBar
from fansrec.cli.terminal import Terminal, echo
from fansrec.cli.urls import refuse_url
from fansrec.cores import usable_cores
from fansrec.errors import BadSetting, Unfinished

DEFAULT_FOLDS = 10
MODELS = "Systems NAME[:RECIPE][+SETTING=VALUE...], comma-separated; the first is compared with each other one"
RESULT = "Write the result to this JSON file, with a Markdown report and a plot beside it"
OUT = "CORPUS-crossval/10-folds-seed-0 beside CORPUS"
KEEP_WEIGHTS = "Keep the trained models in OUT/runs, for example for the other --part"

fold_option = partial(typer.Option, rich_help_panel="Folds")


def crossval(
    corpus: Corpus,
    models: Annotated[str, typer.Option(help=MODELS)] = "fans,ease,item-knn",
    json: Annotated[Path | None, path_option(help=RESULT, show_default="OUT/PART.json")] = None,
    part: Annotated[
        Literal["test", "valid"], typer.Option(help="Lists to evaluate on; valid is for model choices and ablations")
    ] = "test",
    folds: Annotated[int | None, fold_option(help="Number of folds", show_default=str(DEFAULT_FOLDS))] = None,
    seed: Annotated[int, fold_option(min=0, max=2**32 - 1, help="Random seed of the folds")] = 0,
    fold_numbers: Annotated[
        str | None, fold_option(help="Only these folds, comma-separated, from 0", show_default="all")
    ] = None,
    as_is: Annotated[bool, fold_option("--as-is", help="Use the corpus's own split instead of folds")] = False,
    seeds: Annotated[
        str, typer.Option(help="Random seeds of training, comma-separated; values are averaged over them")
    ] = "0",
    force: Force = False,
    out: Annotated[
        Path | None, execution_option(help="Folder for folds and cells", show_default=OUT, callback=refuse_url)
    ] = None,
    only: Annotated[
        Literal["folds", "cells", "report"] | None,
        execution_option(help="Run only this step; cells also makes missing folds"),
    ] = None,
    workers: ParallelRuns = None,
    device: ExperimentDevice = None,
    keep_weights: Annotated[bool, execution_option("--keep-weights", help=KEEP_WEIGHTS)] = False,
    time_limit: Annotated[
        float | None, execution_option(help="Stop after this many seconds; the same command resumes")
    ] = None,
) -> None:
    """Compare systems by cross-validation: each fold is tested by models trained on the others, so every list counts.

    Example: `fans crossval corpora/mine --models fans,ease,item-knn --folds 10 --json crossval.json`

    The lists of all parts are shuffled and assigned to folds. Fold f is the test part, fold f+1 the validation part,
    and the rest the training part, from which the fold's categories are learned too. A system is a model with a recipe
    (best, if it has one) and settings: `fans`, `fans:paper`, `ease:paper+regularization=200`.

    The report has three evaluations: `k fixed` (10 items per list, the protocol standard), `k known` (as many items as
    the target has) and `one given item` (as `k fixed`, with only the last item of each input). Each has the paired
    differences between the first system and the others.

    Finished cells (a system on a fold) are kept in OUT/cells, so the same command resumes an interrupted run. A cell is
    run again if its settings or defaults change, but not if the program changes: remove OUT/cells to measure again.

    On a bare GPU machine: make the folds here with `--only folds --out FOLDER`, copy FOLDER there, run
    `python -m fansrec.experiments crossval FOLDER --models fans,ease`, copy FOLDER/cells back, and run this with
    `--only report`.

    Guide: docs/how-to/reproduce-the-paper.md
    """
    from fansrec.experiments.command_line import parse_integers
    from fansrec.experiments.crossval.report import markdown
    from fansrec.experiments.crossval.run import default_folder, report, run_steps, start
    from fansrec.experiments.crossval.systems import parse_systems
    from fansrec.experiments.machine import hide_gpu

    hide_gpu(device)
    usable_device(device)
    numbers = [] if fold_numbers is None else parse_integers("--fold-numbers", fold_numbers)
    systems, training_seeds = parse_systems(models), parse_integers("--seeds", seeds)
    if as_is and folds is not None:
        raise BadSetting("--as-is uses the corpus's own split; leave out --folds, or --as-is")
    count = None if as_is else DEFAULT_FOLDS if folds is None else folds
    folder = out or default_folder(corpus, count, seed)
    path = json or folder / f"{part}.json"
    if path.suffix in (".md", ".png"):
        raise BadSetting(f"--json {path}: the report and the plot are written under that name; end it in .json")
    check_result(json, {"systems", "figures", "paired"}, force)
    with JobBar(Terminal(stderr=True)) as bar:
        validation = start(corpus, folder, count, seed, numbers, systems, training_seeds, part, bar)
        check_writable(path, force=True)
        parallel = workers or usable_cores()
        unfinished = run_steps(validation, corpus, bar, parallel, only, keep_weights, time_limit)
    if only in (None, "report"):
        echo(*markdown(report(validation, path)).split("\n"))
        echo(*(f"written: {path.with_suffix(suffix)}" for suffix in (path.suffix, ".md", ".png")))
    else:
        echo(f"written: {validation.folder}")
    if unfinished:
        raise Unfinished(f"{len(unfinished)} cells did not finish; fix the errors above and run the same command again")
