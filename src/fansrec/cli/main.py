"""The command `fans`: one file a verb, each registered here."""

import os
import sys

import typer
from rich.console import Console

from fansrec.cli.evaluate import evaluate
from fansrec.cli.prepare import prepare
from fansrec.errors import FansError, MissingExtra

app = typer.Typer(
    name="fans",
    help="Continue lists in one pass: prepare a corpus, train a model, measure it, use it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)

app.command()(prepare)
app.command()(evaluate)

# Which module an optional dependency belongs to, for a word on what to install.
EXTRAS = {
    "polars": "train",
    "pyarrow": "train",
    "gensim": "train",
    "sklearn": "train",
    "accelerate": "train",
    "matplotlib": "train",
}


def refuse(message: str) -> None:
    """One clear line on stderr and exit code 2, the way every refusal of `fans` looks."""
    Console(stderr=True, soft_wrap=True, highlight=False).print("fans: " + " ".join(message.split()), markup=False)
    sys.exit(2)


def run() -> None:
    """The entry point: runs a verb and turns every refusal into one line."""
    try:
        app()
    except FansError as error:
        refuse(str(error))
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").split(".")[0])
        if extra is None:
            raise
        refuse(str(MissingExtra(f"{error.name} is not installed; run: pip install 'fansrec[{extra}]'")))
    except BrokenPipeError:  # `fans … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
