"""`python -m fansrec.experiments paper|crossval|speed …`: run experiments on a bare accelerator machine.

It needs torch, numpy and safetensors alone. Data is prepared and results are reported elsewhere, with `fans reproduce`
and `fans crossval`; the same command resumes their unfinished jobs. `speed` runs the benchmarks of `fans bench`.
"""

import argparse
import sys
from collections.abc import Sequence

from fansrec.errors import FansError, Interrupted
from fansrec.experiments.crossval import command as crossval
from fansrec.experiments.paper import command as paper
from fansrec.experiments.pool import hide_gpu
from fansrec.experiments.speed import command as speed
from fansrec.printable import printable

COMMANDS = {"paper": paper, "crossval": crossval, "speed": speed}


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fansrec.experiments", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name, command in COMMANDS.items():
        own = commands.add_parser(
            name, description=command.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        command.add_options(own)
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> int:
    """Return the number of jobs that failed or were stopped."""
    hide_gpu(options.device)
    unfinished: int = COMMANDS[options.command].run(options)
    return unfinished


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if all jobs are finished, 1 if some are not, 2 for anything refused, 130 if interrupted."""
    try:
        unfinished = run(parse(arguments))
    except (FansError, OSError) as error:
        print(printable(f"fansrec: {error}"), file=sys.stderr)
        return 130 if isinstance(error, Interrupted) else 2
    if unfinished:
        print(f"{unfinished} jobs are unfinished; the same command resumes them", file=sys.stderr)
    return 1 if unfinished else 0


if __name__ == "__main__":
    sys.exit(main())
