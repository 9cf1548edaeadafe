"""`python -m fansrec.training CORPUS --out RUN`: train and evaluate on a machine without the data libraries."""

import argparse
import sys
from pathlib import Path
from typing import Any

from accelerate import PartialState

from fansrec.data.corpus import read_corpus
from fansrec.errors import BadSetting, FansError, Interrupted
from fansrec.evaluation.protocol import CUTOFFS, protocol
from fansrec.evaluation.rows import measure_run, open_run
from fansrec.files import write_json
from fansrec.models.registry import names
from fansrec.printable import printable
from fansrec.training.reporting import PlainReporter
from fansrec.training.trainer import train

FLAGS = ("recipe", "classifier", "scheduler", "steps", "epochs", "seed")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fansrec.training", description=__doc__)
    parser.add_argument("corpus", type=Path, help="A folder written by `fans prepare`")
    parser.add_argument("--out", type=Path, required=True, help="The folder for the model")
    parser.add_argument("--model", choices=names(), help="The model (default: fans)")
    for name in FLAGS:
        parser.add_argument(f"--{name}", help="As in `fans train`")
    parser.add_argument("--start", type=Path, metavar="RUN", help="Continue from the weights of this trained model")
    parser.add_argument("--resume", action="store_true", help="Resume an interrupted training run in --out")
    parser.add_argument("--set", nargs="+", action="extend", default=[], metavar="NAME=VALUE", help="Any other setting")
    parser.add_argument("--no-compare", action="store_true", help="Do not compare with other models at the end")
    parser.add_argument("--json", type=Path, help="Write the figures on the test lists to this file")
    return parser.parse_args()


def settings(options: argparse.Namespace) -> dict[str, Any]:
    for pair in options.set:
        if "=" not in pair:
            raise BadSetting(f"--set {pair} is not of the form NAME=VALUE")
    flags = {name: getattr(options, name) for name in FLAGS if getattr(options, name) is not None}
    return flags | dict(pair.split("=", 1) for pair in options.set)


def evaluate(options: argparse.Namespace) -> None:
    """Print the figures of both protocols on the test lists, and write them as JSON rows if requested."""
    corpus = read_corpus(options.corpus)
    run = open_run(options.out, corpus)
    rows = [measure_run(run, corpus, protocol(name)).row for name in ("paper", "standard")]
    for row in rows:
        figures = "  ".join(f"{metric}@{n} {row[f'{metric}@{n}']}" for n in CUTOFFS for metric in ("NDCG", "HR"))
        print(printable(f"{row['variant']}, {row['protocol']}: {figures}"), flush=True)
    if options.json is not None:
        write_json(options.json, rows)


def main() -> int:
    options = parse()
    try:
        values, compare = settings(options), not options.no_compare
        begun = {"resume": options.resume, "start": options.start}
        train(options.corpus, options.out, options.model, values, PlainReporter(), compare=compare, **begun)
        if PartialState().is_main_process:
            evaluate(options)
    except (FansError, OSError) as error:
        message = error.on_command_line if isinstance(error, FansError) else error
        print(printable(f"fansrec: {message}"), file=sys.stderr)
        return 130 if isinstance(error, Interrupted) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
