"""The cells of a cross-validation whose folds were made elsewhere.

FOLDER was made with `fans crossval CORPUS --folds 10 --out FOLDER --only folds`: split.json and one corpus per fold.
Cells are written to FOLDER/cells/; copied back, `fans crossval CORPUS --out FOLDER --only report` reports them.
"""

import argparse
import sys
from pathlib import Path

from fansrec.errors import BadSetting
from fansrec.experiments.progress import Log
from fansrec.printable import printable


def add_options(parser: argparse.ArgumentParser) -> None:
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
    from fansrec.experiments.crossval.report import write_result
    from fansrec.experiments.crossval.split import fold_folder, made, numbers, read_split
    from fansrec.experiments.crossval.systems import check_systems, parse_systems
    from fansrec.experiments.crossval.work import Choice, do_cells

    folder, split = options.folder, read_split(options.folder)
    wanted = split.chosen(numbers("--fold-numbers", options.fold_numbers))
    folds = made(folder, wanted)
    for fold in sorted(set(wanted) - set(folds)):
        print(printable(f"skipped: {fold_folder(folder, fold)} does not exist"), flush=True)
    if not folds:
        raise BadSetting(f"{folder} holds none of the folds; make them with `fans crossval --only folds`")
    systems = parse_systems(options.models)
    check_systems(systems, read_corpus(fold_folder(folder, folds[0])))
    choice = Choice(folder, split, folds, systems, numbers("--seeds", options.seeds) or [0], options.part)
    undone = do_cells(
        choice, Log(), lambda text: print(printable(text)), options.workers, options.keep_weights, options.time_limit
    )
    for cell in undone:
        print(printable(f"not finished: {cell}"), file=sys.stderr)
    if options.json is not None:
        write_result(choice, options.json)
    return len(undone)
