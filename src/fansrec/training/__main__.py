"""`python -m fansrec.training CORPUS --out RUN`: train a corpus prepared elsewhere, with torch and accelerate alone."""

import argparse
import sys
from pathlib import Path

from fansrec.errors import FansError, Interrupted
from fansrec.models.registry import MODELS
from fansrec.training.reporting import PlainReporter
from fansrec.training.trainer import train


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fansrec.training", description=__doc__)
    parser.add_argument("corpus", type=Path, help="a folder made by `fans prepare`")
    parser.add_argument("--out", type=Path, required=True, help="where the model goes")
    parser.add_argument("--model", default="fans", choices=list(MODELS))
    parser.add_argument("--resume", action="store_true", help="go on with an interrupted training")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="any setting, e.g. epochs=20 seed=1")
    options = parser.parse_args()
    try:
        values = dict(pair.split("=", 1) for pair in options.set)
    except ValueError:
        parser.error("--set takes NAME=VALUE pairs")
    try:
        train(options.corpus, options.out, options.model, values, PlainReporter(), options.resume)
    except FansError as error:
        print(f"fansrec: {error}", file=sys.stderr)
        return 130 if isinstance(error, Interrupted) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
