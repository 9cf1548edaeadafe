"""The page of all commands and options, from the declarations of the command line."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from fansrec.cli.main import app

INTRODUCTION = """# Commands and options

Every command with its options and defaults, as `fans COMMAND --help` shows them. [Command line](command-line.md) \
explains files, results and exit codes.
"""


def page() -> str:
    """Return the page as Markdown."""
    command = typer.main.get_command(app)
    return "\n".join([INTRODUCTION, *_commands(command, "fans")]) + "\n"


def _commands(command: Any, name: str) -> Iterator[str]:
    for inner, one in getattr(command, "commands", {}).items():
        if not one.hidden:
            yield from _command(one, f"{name} {inner}")
            yield from _commands(one, f"{name} {inner}")


def _command(command: Any, name: str) -> Iterator[str]:
    context = typer.Context(command, info_name=name)
    yield f"## {name}\n"
    yield f"{(command.help or '').strip()}\n"
    if not hasattr(command, "commands"):
        usage = " ".join(piece for piece in command.collect_usage_pieces(context) if piece)
        yield f"```\n{name} {usage}\n```\n"
    groups: dict[str, list[Any]] = {}
    for parameter in command.params:
        if not getattr(parameter, "hidden", False) and parameter.name != "help":
            is_argument = parameter.param_type_name == "argument"
            panel = getattr(parameter, "rich_help_panel", None) or ("Arguments" if is_argument else "Options")
            groups.setdefault(panel, []).append(parameter)
    for panel, parameters in groups.items():
        yield f"| {panel} | meaning | default |\n|---|---|---|"
        yield from (_row(parameter, context) for parameter in parameters)
        yield ""


def _row(parameter: Any, context: Any) -> str:
    names = " ".join(_code(name) for name in [*parameter.opts, *parameter.secondary_opts])
    if not getattr(parameter, "is_flag", False):
        names += " " + _code(parameter.display_type(context))
    return f"| {names} | {_text(parameter.help or '')} | {_default(parameter, context)} |"


def _default(parameter: Any, context: Any) -> str:
    if parameter.required:
        return "required"
    if isinstance(getattr(parameter, "show_default", None), str):
        return _text(parameter.show_default)
    value = parameter.get_default(context)
    return "" if value in (None, False, (), []) else _code(str(value))


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _text(text: str) -> str:
    """Return plain text as a cell of a table: only code between backticks is markup."""
    pieces = " ".join(text.split()).replace("|", "\\|").split("`")
    pieces[::2] = (re.sub(r"([\[\]<*_])", r"\\\1", piece) for piece in pieces[::2])
    return "`".join(pieces)
