"""`python -m fansrec.paper WHAT... --out DIR`: the trainings and timings of experiments, on a bare accelerator machine.

The corpora lie in DIR/corpora/<dataset>-<categories>/, prepared elsewhere with `fans reproduce --only-report`; the
figures come to DIR/cells/ and DIR/timings/. `fans reproduce` with the same DIR makes the report of them. Copy DIR/runs/
back too if it shall time with trained weights there: without them it draws weights at random, and says so.
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
        prog="python -m fansrec.paper", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="+", help="table1 to table4, fig-category, fig-recall, fig-time, industry, all")
    parser.add_argument("--out", type=Path, default=Path("reproduction"), help="where everything is kept")
    parser.add_argument("--datasets", nargs="+", help="only these")
    parser.add_argument("--seeds", nargs="+", type=int, help="0 1 2 unless told otherwise")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="trainings at once, a thread each")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="a GPU if there is one, unless told otherwise")
    parser.add_argument("--time-limit", type=float, help="seconds after which all stops, to be gone on with later")
    parser.add_argument("--keep-weights", choices=["latency", "all", "none"], default="latency", help="once finished")
    parser.add_argument("--only", choices=["training", "timing"], help="not both")
    parser.add_argument("--quick", action="store_true", help="a smoke test")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> int:
    """How many jobs did not end well."""
    if options.workers < 1:
        raise BadSetting(f"--workers {options.workers}: at least 1 is needed")
    hide_gpu(options.device)
    from fansrec.paper.catalogue import choose
    from fansrec.paper.cells import Corpora, Folder
    from fansrec.paper.jobs import skipped
    from fansrec.paper.machine import default_device
    from fansrec.paper.work import do_all

    choice = choose(options.what, options.datasets, options.seeds, options.quick)
    corpora = Corpora(Folder(options.out))
    for name in skipped(choice, corpora):
        print(printable(f"skipped: {options.out / 'corpora' / name} is not there"), flush=True)
    if not corpora.known and any(experiment.systems for experiment in choice.experiments):
        raise BadSetting(f"{options.out / 'corpora'} holds none of the corpora; prepare them "
                         "with `fans reproduce --only-report`")  # fmt: skip
    device = options.device or default_device()
    kept, limit = options.keep_weights, options.time_limit
    return do_all(choice, corpora, Log(), options.workers, device, kept, limit, options.only)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if all is finished, 1 if some jobs failed or are left for later, 2 for anything refused."""
    try:
        undone = run(parse(arguments))
    except (FansError, OSError) as error:
        print(printable(f"fansrec: {error}"), file=sys.stderr)
        return 130 if isinstance(error, Interrupted) else 2
    if undone:
        print(f"{undone} left undone; the same command goes on with them", file=sys.stderr)
    return 1 if undone else 0


if __name__ == "__main__":
    sys.exit(main())
