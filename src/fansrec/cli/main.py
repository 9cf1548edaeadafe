"""The command `fans`: every subcommand has its own file and is registered here."""

import os
import sys
from typing import Any, NoReturn

import typer

from fansrec import __version__
from fansrec.cli import bench, data, events, keys
from fansrec.cli.compact import compact
from fansrec.cli.compare import compare
from fansrec.cli.continue_ import continue_lists
from fansrec.cli.crossval import crossval
from fansrec.cli.demo import demo
from fansrec.cli.doctor import doctor
from fansrec.cli.evaluate import evaluate
from fansrec.cli.export import export
from fansrec.cli.prepare import prepare
from fansrec.cli.reproduce import reproduce
from fansrec.cli.serve import serve
from fansrec.cli.several_values import SeveralValues
from fansrec.cli.terminal import Terminal, echo
from fansrec.cli.train import train
from fansrec.cli.tune import tune
from fansrec.cli.update import update
from fansrec.errors import FansError, Interrupted, missing_extras
from fansrec.files import format_os_error
from fansrec.validation_messages import in_our_words

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
app.command()(update)
app.command()(compact)
app.command()(compare)
app.command()(tune)
app.command()(evaluate)
app.command()(crossval)
app.command("continue", cls=SeveralValues)(continue_lists)
app.command()(serve)
app.add_typer(keys.app, name="keys")
app.add_typer(events.app, name="events")
app.command()(export)
app.add_typer(bench.app, name="bench")
app.command()(reproduce)
app.command()(doctor)

# Typer has its own copy of click's errors, which it does not export.
UsageError: Any = typer.BadParameter.__mro__[1]


@app.callback(invoke_without_command=True)
def version(version: bool = typer.Option(False, "--version", help="Print the version and exit")) -> None:
    if version:
        echo(__version__)
        raise typer.Exit


def _usage(message: str) -> str:
    """Return a message of typer, without pydantic's sentences, which it quotes."""
    invalid, separator, reason = message.partition(": ")
    own = in_our_words(reason)
    return f"{invalid}: it {own}" if own.startswith("must") else f"{invalid}{separator}{own}"


STOPPED = 130  # exit code after an interrupt


def refuse(message: str, code: int = 2) -> NoReturn:
    """Print `message` as one line on stderr and exit with `code`."""
    Terminal(stderr=True).say("fans: " + " ".join(message.split()))
    sys.exit(code)


def run() -> None:
    """Run the command line and turn every error of the user into one line (the entry point)."""
    try:
        with missing_extras():
            code = app(prog_name="fans", standalone_mode=False) or 0
        if code == STOPPED:  # typer catches Ctrl-C itself and prints nothing
            refuse("stopped", STOPPED)
        sys.exit(code)
    except UsageError as error:
        if not error.format_message():  # empty: the help has been printed
            sys.exit(2)
        refuse(f"{_usage(error.format_message())} (try --help)")
    except (KeyboardInterrupt, typer.Abort):
        refuse("stopped", STOPPED)
    except FansError as error:
        refuse(error.on_command_line, STOPPED if isinstance(error, Interrupted) else 2)
    except BrokenPipeError:  # `fans … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:  # a full disk, a path that cannot be read or written
        refuse(format_os_error(error))
