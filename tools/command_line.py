"""Write the reference of the command line from the declarations of the commands: make reference.

The parts of docs/reference/command-line.md between markers are replaced; the rest is written by hand.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from fansrec.cli.main import app

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "command-line.md"
VALUES = {"int": "N", "int range": "N", "float": "X", "float range": "X", "path": "PATH", "str": "TEXT"}
LONG = 250  # characters of a row that is shown once, at the first command that has it

Commands = list[tuple[str, Any]]


def commands() -> Commands:
    """Return every command and group of commands with its name, such as `fans bench latency`."""
    return [*_inner("fans", typer.main.get_command(app))]


def _inner(name: str, group: Any) -> Iterator[tuple[str, Any]]:
    for word, command in group.commands.items():
        if not command.hidden:
            yield f"{name} {word}", command
            if hasattr(command, "commands"):
                yield from _inner(f"{name} {word}", command)


def parts() -> dict[str, str]:
    """Return the generated parts of the page by their markers."""
    shown: dict[str, str] = {}
    rows = [
        f"| [`{name}`](#{name.replace(' ', '-')}) | {_title(command)} |"
        for name, command in commands()
        if not hasattr(command, "commands")
    ]
    texts = ["\n".join(_command(name, command, shown)) for name, command in commands()]
    return {"overview": "\n".join(["| command | purpose |", "|---|---|", *rows]), "commands": "\n".join(texts)}


def filled(text: str) -> str:
    """Return the page with its generated parts replaced."""
    for name, part in parts().items():
        here = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if not here.search(text):
            raise SystemExit(f"{PAGE} has no markers <!-- {name} --> and <!-- /{name} -->; put them back")
        text = here.sub(lambda found, part=part: f"{found[1]}{part}\n{found[2]}", text)  # type: ignore[misc]
    return text


def _title(command: Any) -> str:
    first = (command.help or "").strip().partition("\n\n")[0]
    return _cell(first).removesuffix(".")


def _command(name: str, command: Any, shown: dict[str, str]) -> Iterator[str]:
    """Yield the section of a command; `shown` has the long rows of earlier commands."""
    context = typer.Context(command, info_name=name)
    yield f"{'#' * name.count(' ')}## {name}\n"
    yield _paragraphs(command.help or "")
    if hasattr(command, "commands"):
        return
    yield f"```text\n{_usage(name, command, context)}\n```\n"
    panels: dict[str, list[Any]] = {}
    for parameter in command.params:
        if not getattr(parameter, "hidden", False) and parameter.name != "help":
            panel = "Arguments" if _is_argument(parameter) else parameter.rich_help_panel or "Options"
            panels.setdefault(panel, []).append(parameter)
    for panel, parameters in panels.items():
        yield f"| {panel} | meaning | default |\n|---|---|---|"
        yield from _rows(name, parameters, context, shown)
        yield ""


def _paragraphs(text: str) -> str:
    """Return a help text with every paragraph, or entry of a list, on a line of its own."""
    lines = re.sub(r"\n(?!\n|- )", " ", re.sub(r"\n\n+", "\n\n", text.strip()).replace("\n\n", "\0"))
    linked = re.sub(r"\bdocs/([\w/-]+\.md)", lambda found: f"[{_heading(found[1])}](../{found[1]})", lines)
    return re.sub(r" *\0 *", "\n\n", linked) + "\n"


def _heading(page: str) -> str:
    first = (PAGE.parents[1] / page).read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("# ").removeprefix("Tutorial: ")


def _usage(name: str, command: Any, context: Any) -> str:
    arguments = [_value(one, context) for one in command.params if _is_argument(one)]
    required = [one for one in command.params if one.required and not _is_argument(one)]
    options = [f"{one.opts[0]} {_value(one, context)}" for one in required]
    return " ".join([name, *arguments, *options, "[OPTIONS]"])


def _rows(name: str, parameters: list[Any], context: Any, shown: dict[str, str]) -> Iterator[str]:
    repeated: dict[str, list[str]] = {}
    for parameter in parameters:
        row = _row(parameter, context)
        if len(row) > LONG and row in shown:
            repeated.setdefault(shown[row], []).append(f"`{parameter.opts[0]}`")
        else:
            yield row
            shown[row] = name
    for other, options in repeated.items():
        yield f"| {' '.join(options)} | as for [`{other}`](#{other.replace(' ', '-')}) | |"


def _row(parameter: Any, context: Any) -> str:
    names = [] if _is_argument(parameter) else [*parameter.opts, *parameter.secondary_opts]
    if not getattr(parameter, "is_flag", False):
        names.append(_value(parameter, context))
    variable = f" (variable `{parameter.envvar}`)" if getattr(parameter, "envvar", None) else ""
    meaning = _cell(parameter.help or "") + variable + _limits(parameter)
    return f"| {' '.join(map(_code, names))} | {meaning} | {_default(parameter, context)} |"


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _value(parameter: Any, context: Any) -> str:
    """Return what stands for the value: its name, its choices or its type."""
    if _is_argument(parameter):
        metavar: str = parameter.metavar or parameter.name.upper() + "..." * (parameter.nargs != 1)
        return metavar if parameter.required or metavar.startswith("[") else f"[{metavar}]"
    kind = parameter.display_type(context).strip("<>")
    if kind.startswith("list["):
        kind = kind.removeprefix("list[").removesuffix("]")
    return parameter.metavar or VALUES.get(kind, kind)


def _limits(parameter: Any) -> str:
    least, most = getattr(parameter, "min", None), getattr(parameter, "max", None)
    if least is None:
        return ""
    return f"; at least {least:,}" if most is None else f"; {least:,} to {most:,}"


def _default(parameter: Any, context: Any) -> str:
    if parameter.required:
        return "required"
    if isinstance(getattr(parameter, "show_default", None), str):
        return _cell(parameter.show_default)
    value = parameter.get_default(context)
    if value is None or value is False or value == () or value == []:
        return ""
    return _code(f"{value:g}" if isinstance(value, float) else str(value))


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _cell(text: str) -> str:
    """Return plain text as a cell of a table: only code between backticks is markup."""
    pieces = " ".join(text.split()).replace("|", "\\|").split("`")
    pieces[::2] = (re.sub(r"([\[\]<*_])", r"\\\1", piece) for piece in pieces[::2])
    return "`".join(pieces)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
