"""Checks of commands and of Python code in documents, without running them.

Every check returns what is wrong, or None.
"""

import argparse
import ast
import importlib
import inspect
import re
import runpy
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import typer
from pydantic import BaseModel, ValidationError

import fansrec
from docs.commands import ROOT
from fansrec.api.continuer import Continuer
from fansrec.cli.main import app
from fansrec.errors import FansError
from fansrec.serving.events.requests import SendEvents
from fansrec.serving.http import routes
from fansrec.serving.requests import ContinueRequest
from fansrec.serving.writes.requests import WriteItems, WriteLists

PLACEHOLDER = re.compile(r"[A-Z][A-Z_-]*$|.*…|^\[|.*\]$")  # RUN, …, [--workers N]
INCOMPLETE = "the following arguments are required"  # a message of argparse
TARGET = re.compile(r"^([a-z][\w-]*):", re.MULTILINE)
CLASSES = {"client": fansrec.Client, "model": Continuer}  # what variables of these names are
BODIES: dict[str, type[BaseModel]] = {
    "/v1/continue": ContinueRequest, "/v1/events": SendEvents, "/v1/lists": WriteLists, "/v1/items": WriteItems,
}  # fmt: skip
APP = typer.main.get_command(app)
UsageError: Any = typer.BadParameter.__mro__[1]


def fans(words: list[str], whole: bool = True) -> str | None:
    """Parse the arguments of `fans`; without `whole`, arguments may be missing and values be placeholders."""
    command: Any = APP
    words = words[: words.index(">")] if ">" in words else words
    names = ["fans"]
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        names.append(words[0])
        if words[0] not in command.commands:
            return None if PLACEHOLDER.match(words[0]) else f"{' '.join(names)} does not exist"
        command, words = command.commands[words[0]], words[1:]
    try:
        if whole and not hasattr(command, "commands"):
            extra = [one for one in command.make_context(names[-1], words).args if "=" not in one]  # fans train --set
            return f"{' '.join(names)}: {extra[0]} is one argument too many" if extra else None
        return _known(command, [word.strip("[]") for word in words if word != "…"])
    except UsageError as error:
        return f"{' '.join(names)}: {error.format_message()}"
    except FansError as error:  # a value that is refused, which a text may mention
        return str(error) if whole else None


def _known(command: Any, words: list[str]) -> str | None:
    """Check the options of an incomplete command, and values that are not placeholders."""
    context = typer.Context(command)
    if words and words[-1].startswith("-"):
        words = [*words, "VALUE"]
    given = command.make_parser(context).parse_args(args=words)[0]
    for parameter in [] if hasattr(command, "commands") else command.params:  # those of `fans` itself act at once
        values = given.get(parameter.name)
        texts = values if isinstance(values, list) else [values]
        if values is not None and not any(isinstance(one, str) and PLACEHOLDER.match(one) for one in texts):
            parameter.process_value(context, values)
    return None


class Parsed(BaseException):
    """Ends a program after its arguments were parsed."""


def python(words: list[str], whole: bool = True) -> str | None:
    """Check `python SCRIPT …` or `python -m MODULE …` of this repository.

    Modules of the package parse the arguments themselves; of other scripts, which import much, only the options are
    looked for in the source.
    """
    name, *arguments = words[1:] if words[0] == "-m" else words
    if name == "venv" or "…" in name:
        return None
    paths = [Path(name)] if words[0] != "-m" else _module_paths(name)
    path = next((ROOT / found for found in paths if (ROOT / found).is_file()), None)
    if path is None:
        return f"{name} does not exist"
    arguments = [one.strip("[]") for one in arguments]
    if name.startswith("fansrec.") and "…" not in " ".join(arguments):
        wrong = _parsed(name, arguments)
        return None if wrong and not whole and INCOMPLETE in wrong else wrong
    sources = "".join(one.read_text(encoding="utf-8") for one in path.parent.glob("*.py"))
    unknown = [one for one in arguments if one.startswith("-") and f'"{one}"' not in sources]
    return f"{name} has no option {unknown[0]}" if unknown else None


def _module_paths(name: str) -> Iterator[Path]:
    relative = Path(*name.split("."))
    for folder in map(Path, ("", "src", "tests")):
        yield folder / relative.with_suffix(".py")
        yield folder / relative / "__main__.py"


def _parsed(module: str, arguments: list[str]) -> str | None:
    """Start a module with these arguments, up to the moment in which it has parsed them."""
    original: Callable[..., Any] = argparse.ArgumentParser.parse_args

    def parse(self: argparse.ArgumentParser, args: Any = None, namespace: Any = None) -> Any:
        original(self, args, namespace)
        raise Parsed

    def refuse(self: argparse.ArgumentParser, message: str) -> None:
        raise ValueError(message)

    replaced = mock.patch.multiple(argparse.ArgumentParser, parse_args=parse, error=refuse)
    with replaced, mock.patch.object(sys, "argv", [module, *arguments]), mock.patch.dict("os.environ"):
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        except Parsed:
            return None
        except ValueError as error:
            return f"{module}: {error}"
    return f"{module} did not parse its arguments"


def make(words: list[str]) -> str | None:
    """Check that the targets exist."""
    known = {*TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8"))}
    unknown = [word for word in words if "=" not in word and word not in known]
    return f"the Makefile has no target {unknown[0]}" if unknown else None


def pip(words: list[str]) -> str | None:
    """Check that the extras exist."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [one for word in words for found in re.findall(r"\[(.*)\]", word) for one in found.split(",")]
    unknown = [one for one in extras if one not in project["optional-dependencies"]]
    return f"there is no extra {unknown[0]}" if unknown else None


def curl(words: list[str]) -> str | None:
    """Check that the service has the route, and that the body is one that it takes."""
    [url] = [word for word in words if word.startswith("http")]
    if ":8080" not in url:
        return None  # of the load balancer
    path = re.sub(r"^https?://[^/]+|[?].*", "", url)
    body = words[words.index("-d") + 1] if "-d" in words else None
    method = words[words.index("-X") + 1] if "-X" in words else "GET" if body is None else "POST"
    known = [one for one in vars(routes).values() if isinstance(one, routes.Route) and method in one.methods]
    if not any(re.fullmatch(re.sub(r"\{\w+\}", ".+", one.path), path) for one in known):
        return f"the service has no route {method} {path}"
    try:
        if body is not None:
            BODIES[path].model_validate_json(body)
    except ValidationError as error:
        return f"{path} refuses the body: {error}"
    return None


def code(text: str) -> str | None:
    """Check that Python code compiles, and that the names and arguments of this package in it exist."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        wrong = _name(node) if isinstance(node, ast.Attribute | ast.ImportFrom) else None
        wrong = _call(node) if isinstance(node, ast.Call) else wrong
        if wrong is not None:
            return wrong
    return None


def _name(node: ast.Attribute | ast.ImportFrom) -> str | None:
    if isinstance(node, ast.ImportFrom):
        if not (node.module or "").startswith("fansrec"):
            return None
        module = importlib.import_module(str(node.module))
        unknown = [one.name for one in node.names if not hasattr(module, one.name)]
        return f"{node.module} has no {unknown[0]}" if unknown else None
    text = ast.unparse(node)
    if re.fullmatch(r"fansrec\.\w+", text) and not _exists(text):
        return f"there is no {text}"
    return None


def _exists(name: str) -> bool:
    package, _, attribute = name.partition(".")
    return hasattr(fansrec, attribute) or (ROOT / "src" / package / attribute).is_dir() or attribute == "errors"


def _call(node: ast.Call) -> str | None:
    """Check a call of a public function, or of a method of a client or a model."""
    owner, _, name = ast.unparse(node.func).rpartition(".")
    target = getattr(fansrec if owner == "fansrec" else CLASSES.get(owner), name, None)
    if owner not in ("fansrec", *CLASSES) or not callable(target):
        return f"{owner} has no method {name}" if owner in CLASSES else None
    arguments = [None] * (len(node.args) + (owner in CLASSES))
    try:
        inspect.signature(target).bind_partial(*arguments, **{one.arg: None for one in node.keywords if one.arg})
    except TypeError as error:
        return f"{owner}.{name}: {error}"
    return None
