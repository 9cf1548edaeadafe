"""The command `fans`: one file a verb, each registered here."""

import os
import sys
from typing import Any, NoReturn

import typer

from fansrec import __version__
from fansrec.cli import bench, data, keys
from fansrec.cli.continue_ import continue_lists
from fansrec.cli.crossval import crossval
from fansrec.cli.demo import demo
from fansrec.cli.evaluate import evaluate
from fansrec.cli.export import export
from fansrec.cli.prepare import prepare
from fansrec.cli.reproduce import reproduce
from fansrec.cli.serve import serve
from fansrec.cli.terminal import Terminal, echo
from fansrec.cli.train import train
from fansrec.errors import FansError, Interrupted, MissingExtra
from fansrec.files import format_os_error

app = typer.Typer(
    name="fans",
    help="Continue lists in one pass: prepare a corpus, train a model, measure it, use it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)

app.command()(demo)
app.add_typer(data.app, name="data")
app.command()(prepare)
app.command(context_settings={"allow_extra_args": True})(train)  # --set takes several pairs
app.command()(evaluate)
app.command()(crossval)
app.command("continue")(continue_lists)
app.command()(serve)
app.add_typer(keys.app, name="keys")
app.command()(export)
app.add_typer(bench.app, name="bench")
app.command()(reproduce)

# Which extra an optional dependency belongs to, for a word on what to install.
EXTRAS = dict.fromkeys(("polars", "pyarrow", "gensim", "sklearn", "accelerate", "matplotlib"), "train")
EXTRAS["onnx"] = "export"
EXTRAS["ray"] = "ray"
SERVING = ("fastapi", "starlette", "uvicorn", "uvloop", "httptools", "prometheus_client", "pydantic", "pydantic_core")
EXTRAS |= dict.fromkeys(SERVING, "serve")
# Typer carries its own copy of click's errors, which it does not name.
UsageError: Any = typer.BadParameter.__mro__[1]


@app.callback(invoke_without_command=True)
def version(version: bool = typer.Option(False, "--version", help="Print the version and leave")) -> None:
    if version:
        echo(__version__)
        raise typer.Exit


STOPPED = 130  # the exit code of what was told to stop


def refuse(message: str, code: int = 2) -> NoReturn:
    """One clear line on stderr and exit code 2, the way every refusal of `fans` looks."""
    Terminal(stderr=True).say("fans: " + " ".join(message.split()))
    sys.exit(code)


def run() -> None:
    """The entry point: runs a verb and turns every refusal into one line."""
    try:
        code = app(standalone_mode=False) or 0
        if code == STOPPED:  # typer catches Ctrl-C itself, and says nothing
            refuse("stopped", STOPPED)
        sys.exit(code)
    except UsageError as error:
        if not error.format_message():  # no words at all: the help has been printed
            sys.exit(2)
        refuse(f"{error.format_message()} (try --help)")
    except (KeyboardInterrupt, typer.Abort):
        refuse("stopped", STOPPED)
    except FansError as error:
        refuse(str(error), STOPPED if isinstance(error, Interrupted) else 2)
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").split(".")[0])
        if extra is None:
            raise
        refuse(str(MissingExtra(f"{error.name} is not installed; run: pip install 'fansrec[{extra}]'")))
    except BrokenPipeError:  # `fans … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:  # a disk that is full, a place that cannot be read or written
        refuse(format_os_error(error))
