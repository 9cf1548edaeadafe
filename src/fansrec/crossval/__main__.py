"""`python -m fansrec.crossval FOLDER --models A,B`: the cells of folds made elsewhere, on a bare accelerator machine.

FOLDER was made with `fans crossval CORPUS --folds 10 --out FOLDER --only folds`: split.json and a corpus a fold. The
cells come to FOLDER/cells/; with them copied back, `fans crossval CORPUS --out FOLDER --only report` reports.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from fansrec.errors import BadSetting, FansError, Interrupted
from fansrec.printable import printable
from fansrec.watching import Log
from fansrec.workers import hide_gpu


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m fansrec.crossval", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="with the folds")
    parser.add_argument("--models", required=True, help="systems NAME[:RECIPE][+SETTING=VALUE...], with commas")
    parser.add_argument("--fold-numbers", help="only these folds, with commas")
    parser.add_argument("--part", choices=["test", "valid"], default="test", help="the lists to judge by")
    parser.add_argument("--seeds", default="0", help="of training, with commas")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="cells at once, a thread each")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="a GPU if there is one, unless told otherwise")
    parser.add_argument("--time-limit", type=float, help="seconds after which all stops, to be gone on with later")
    parser.add_argument("--keep-weights", action="store_true", help="in FOLDER/runs, once a cell is finished")
    parser.add_argument("--json", type=Path, help="write the result of the finished cells there, and FILE.md beside it")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> int:
    """How many cells did not end well."""
    if options.workers < 1:
        raise BadSetting(f"--workers {options.workers}: at least 1 is needed")
    hide_gpu(options.device)
    from fansrec.crossval.report import write_result
    from fansrec.crossval.split import fold_folder, made, numbers, read_split
    from fansrec.crossval.systems import check_systems, parse_systems
    from fansrec.crossval.work import Choice, do_cells
    from fansrec.data.corpus import read_corpus

    folder, split = options.folder, read_split(options.folder)
    wanted = split.chosen(numbers("--fold-numbers", options.fold_numbers))
    folds = made(folder, wanted)
    for fold in sorted(set(wanted) - set(folds)):
        print(printable(f"skipped: {fold_folder(folder, fold)} is not there"), flush=True)
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


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if all is finished, 1 if some cells failed or are left for later, 2 for anything refused."""
    try:
        undone = run(parse(arguments))
    except (FansError, OSError) as error:
        print(printable(f"fansrec: {error}"), file=sys.stderr)
        return 130 if isinstance(error, Interrupted) else 2
    if undone:
        print(f"{undone} cells left; the same command goes on with them", file=sys.stderr)
    return 1 if undone else 0


if __name__ == "__main__":
    sys.exit(main())
