"""The command `fans`: every subcommand has its own file and is registered here."""

import os
import sys
from typing import Any, NoReturn

import typer

from fansrec import __version__
from fansrec.cli import bench, data, keys
from fansrec.cli.compare import compare
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
from fansrec.cli.tune import tune
from fansrec.errors import FansError, Interrupted, not_installed
from fansrec.files import format_os_error

app = typer.Typer(
    name="fans",
    help="Continue lists of items: prepare a corpus, train a model, evaluate it, use it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)

app.command()(demo)
app.add_typer(data.app, name="data")
app.command()(prepare)
app.command(context_settings={"allow_extra_args": True})(train)  # --set takes several values
app.command()(compare)
app.command()(tune)
app.command()(evaluate)
app.command()(crossval)
app.command("continue")(continue_lists)
app.command()(serve)
app.add_typer(keys.app, name="keys")
app.command()(export)
app.add_typer(bench.app, name="bench")
app.command()(reproduce)

# The extra of each optional dependency, for the message that says what to install.
SERVING = [
    "fastapi",
    "starlette",
    "uvicorn",
    "uvloop",
    "httptools",
    "prometheus_client",
    "pydantic",
    "pydantic_core",
    "rapidfuzz",
]
TRAINING = ("polars", "pyarrow", "gensim", "sklearn", "accelerate", "matplotlib")
EXTRAS = (
    {"onnx": "export", "ray": "ray", "torch": "train"}
    | dict.fromkeys(TRAINING, "train")
    | dict.fromkeys(SERVING, "serve")
)
# Typer has its own copy of click's errors, which it does not export.
UsageError: Any = typer.BadParameter.__mro__[1]


@app.callback(invoke_without_command=True)
def version(version: bool = typer.Option(False, "--version", help="Print the version and exit")) -> None:
    if version:
        echo(__version__)
        raise typer.Exit


STOPPED = 130  # exit code after an interrupt


def refuse(message: str, code: int = 2) -> NoReturn:
    """Print `message` as one line on stderr and exit with `code`."""
    Terminal(stderr=True).say("fans: " + " ".join(message.split()))
    sys.exit(code)


def run() -> None:
    """Run the command line and turn every error of the user into one line (the entry point)."""
    try:
        code = app(standalone_mode=False) or 0
        if code == STOPPED:  # typer catches Ctrl-C itself and prints nothing
            refuse("stopped", STOPPED)
        sys.exit(code)
    except UsageError as error:
        if not error.format_message():  # empty: the help has been printed
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
        refuse(str(not_installed(str(error.name), extra)))
    except BrokenPipeError:  # `fans … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:  # a full disk, a path that cannot be read or written
        refuse(format_os_error(error))
