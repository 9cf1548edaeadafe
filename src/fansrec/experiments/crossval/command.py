"""Run the cells of a cross-validation whose folds were made elsewhere.

FOLDER was made with `fans crossval CORPUS --folds 10 --out FOLDER --only folds`: split.json and one corpus per fold.
Cells are written to FOLDER/cells/; copied back, `fans crossval CORPUS --out FOLDER --only report` reports them.
"""

import argparse
import sys
from pathlib import Path

from fansrec.errors import BadSetting
from fansrec.experiments.options import add_job_options, parse_integers
from fansrec.experiments.progress import Log
from fansrec.printable import printable


def add_options(parser: argparse.ArgumentParser) -> None:
    add_job_options(parser)
    parser.add_argument("folder", type=Path, help="folder with the folds")
    parser.add_argument("--models", required=True, help="systems NAME[:RECIPE][+SETTING=VALUE...], separated by commas")
    parser.add_argument("--fold-numbers", help="only these folds, separated by commas")
    parser.add_argument("--part", choices=["test", "valid"], default="test", help="the lists to evaluate on")
    parser.add_argument("--seeds", default="0", help="random seeds of training, separated by commas")
    parser.add_argument("--keep-weights", action="store_true", help="keep those of finished cells in FOLDER/runs")
    parser.add_argument("--json", type=Path, help="write the results of finished cells here, and FILE.md beside it")


def run(options: argparse.Namespace) -> int:
    """Return the number of cells that failed or were stopped."""
    from fansrec.data.corpus import read_corpus
    from fansrec.experiments.crossval.cross_validation import CrossValidation
    from fansrec.experiments.crossval.report import write_result
    from fansrec.experiments.crossval.split import fold_folder, read_split
    from fansrec.experiments.crossval.systems import check_systems, parse_systems

    folder, split, log = options.folder, read_split(options.folder), Log()
    numbers = parse_integers("--fold-numbers", options.fold_numbers) if options.fold_numbers is not None else []
    folds = _existing_folds(folder, split.select(numbers), log)
    systems = parse_systems(options.models)
    check_systems(systems, read_corpus(fold_folder(folder, folds[0])))
    seeds = parse_integers("--seeds", options.seeds)
    validation = CrossValidation(folder, split, folds, systems, seeds, options.part)
    unfinished = validation.run_cells(log, options.workers, options.keep_weights, options.time_limit)
    for job in unfinished:
        print(printable(f"not finished: {job.title}"), file=sys.stderr)
    if options.json is not None:
        write_result(validation, options.json)
    return len(unfinished)


def _existing_folds(folder: Path, numbers: list[int], log: Log) -> list[int]:
    from fansrec.experiments.crossval.split import fold_folder, has_fold

    existing = [number for number in numbers if has_fold(folder, number)]
    for number in sorted(set(numbers) - set(existing)):
        log.say(f"skipped: {fold_folder(folder, number)} does not exist")
    if not existing:
        raise BadSetting(f"{folder} has none of the folds; make them with `fans crossval --only folds`")
    return existing
