"""The public interfaces as flat tables of names and what is promised about them; `python -m release.interfaces`.

Run in tests/, it adds what is new to the snapshots in tests/golden/interfaces. Before a major release a snapshot may be
deleted and written again; otherwise nothing that it has may change.
"""

import dataclasses
import enum
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, get_args, get_origin

import typer

import fansrec
from fansrec import client, errors
from fansrec.api import answers, continuer
from fansrec.cli.main import app
from fansrec.serving.app import framework_app
from fansrec.serving.continue_route import ContinueRoute
from fansrec.serving.settings import ModelSpec, Settings

FOLDER = Path(__file__).parents[1] / "golden" / "interfaces"
Table = dict[str, str]
REQUIRED = "required"  # a value that begins so may not be added
INTERNAL = {  # methods that the service and the command line use, which are not documented
    *("Continuer.answer_unknown", "Continuer.answers", "Continuer.did_you_mean", "Continuer.indices"),
    *("Continuer.rules", "Answer.from_fields", "Answer.to_line", "Explanation.from_fields", "Position.from_fields"),
}
DEEPEST = 8  # of nested objects in a request or an answer


def python_names() -> Table:
    """Return the parameters of public functions and methods, with positions and defaults, and public attributes."""
    found = {f"fansrec.{name}": getattr(fansrec, name) for name in fansrec.__all__}
    found |= {name: one for module in (client, answers, continuer) for name, one in _classes(module).items()}
    found |= {f"fansrec.errors.{name}": one for name, one in _classes(errors).items()}
    table: Table = {}
    for name, one in found.items():
        describe = _class if inspect.isclass(one) else _function if callable(one) else _value
        table |= dict(describe(name, one))
    return {name: value for name, value in table.items() if name.partition("(")[0] not in INTERNAL}


def _classes(module: Any) -> dict[str, Any]:
    """Return the public classes of a module that are defined in it or below it."""
    own = {name: one for name, one in vars(module).items() if inspect.isclass(one) and not name.startswith("_")}
    return {name: one for name, one in own.items() if one.__module__.startswith(module.__name__)}


def _value(name: str, _: Any) -> Iterator[tuple[str, str]]:
    yield name, "value"


def _class(name: str, one: type[Any]) -> Iterator[tuple[str, str]]:
    yield name, "class" + "".join(f", {base.__name__}" for base in one.__mro__ if base.__name__ == "FansError")
    if dataclasses.is_dataclass(one):
        yield from ((f"{name}.{field.name}", "attribute") for field in dataclasses.fields(one))
    members = {key for kind in one.__mro__ if kind.__module__.startswith("fansrec") for key in vars(kind)}
    for key in sorted(member for member in members if not member.startswith("_")):
        member = inspect.getattr_static(one, key)
        if inspect.isfunction(member):
            yield from _function(f"{name}.{key}", member)
        elif isinstance(member, property):
            yield f"{name}.{key}", "attribute"


def _function(name: str, one: Any) -> Iterator[tuple[str, str]]:
    yield name, "async function" if inspect.iscoroutinefunction(one) else "function"
    for position, parameter in enumerate(inspect.signature(one).parameters.values()):
        if parameter.name != "self":
            where = "keyword" if parameter.kind == parameter.KEYWORD_ONLY else f"position {position}"
            empty = parameter.default is parameter.empty and parameter.kind not in (2, 4)  # *args and **more
            default = REQUIRED if empty else f"default {_plain(parameter.default)}"
            yield f"{name}({parameter.name})", f"{default}, {where}"


def _plain(default: Any) -> str:
    """Return a default as text that is the same on every machine."""
    if isinstance(default, enum.Enum | str | int | float | tuple | None):
        return repr(default)
    return "of its own"


def command_line() -> Table:
    """Return the commands, their arguments, options and choices."""
    commands = list(typer.main.get_command(app).commands.items())  # type: ignore[attr-defined]
    table: Table = {}
    for name, command in commands:
        if hasattr(command, "commands"):
            commands += [(f"{name} {inner}", one) for inner, one in command.commands.items()]
            continue
        table[f"fans {name}"] = "command"
        for parameter in command.params:
            table |= dict(_parameter(f"fans {name}", parameter))
    return table


def _parameter(command: str, parameter: Any) -> Iterator[tuple[str, str]]:
    kind = REQUIRED if parameter.required else "optional"
    if parameter.param_type_name == "argument":
        yield f"{command} {(parameter.metavar or parameter.name).upper()}", f"{kind} argument, {parameter.nargs} values"
        return
    flag = "flag" if parameter.is_flag else "option with a value"
    repeated = ", repeated" if parameter.multiple else ""
    for option in parameter.opts:
        yield f"{command} {option}", f"{kind} {flag}{repeated}"
        yield from ((f"{command} {option}={choice}", "choice") for choice in _choices(parameter))


def _choices(parameter: Any) -> tuple[Any, ...]:
    annotation = parameter.type_descriptor.annotation
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def http_api() -> Table:
    """Return the operations of the service with the fields of their requests and answers."""
    models = [ModelSpec.parse("a=a"), ModelSpec.parse("b=b")]
    service: Any = SimpleNamespace(settings=Settings(models=models))
    schema = framework_app(service, ContinueRoute(service)).openapi()
    table: Table = {}
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            table |= dict(_operation(f"{method.upper()} {path}", operation, schema))
    return table


def _operation(name: str, operation: dict[str, Any], schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield name, "operation"
    for one in operation.get("parameters", ()):
        yield f"{name} {one['in']} {one['name']}", REQUIRED if one.get("required") else "optional"
    for body in operation.get("requestBody", {}).get("content", {}).values():
        yield from _fields(f"{name} request", body["schema"], schema, (REQUIRED, "optional"))
    for status, answer in operation["responses"].items():
        yield f"{name} {status}", "answer"
        for body in answer.get("content", {}).values():
            yield from _fields(f"{name} {status}", body.get("schema", {}), schema, ("always", "sometimes"))


def _fields(
    name: str, part: dict[str, Any], schema: dict[str, Any], words: tuple[str, str], depth: int = 0
) -> Iterator[tuple[str, str]]:
    """Yield the fields of objects in a schema, with whether they are required and their types."""
    if depth > DEEPEST:
        return
    for one in _alternatives(part, schema):
        if "items" in one:
            yield from _fields(f"{name}[]", one["items"], schema, words, depth + 1)
        for key, inner in one.get("properties", {}).items():
            types = sorted({str(kind.get("type", "any")) for kind in _alternatives(inner, schema)})
            yield f"{name}.{key}", f"{words[key not in one.get('required', ())]} {' or '.join(types)}"
            yield from _fields(f"{name}.{key}", inner, schema, words, depth + 1)


def _alternatives(part: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the schemas of which one holds, with references resolved."""
    if "$ref" in part:
        place: Any = schema
        for key in part["$ref"].removeprefix("#/").split("/"):
            place = place.get(key, {}) if key in place else schema.get("$defs", {}).get(key, {})
        return _alternatives(place, schema)
    inner = part.get("anyOf") or part.get("oneOf") or part.get("allOf")
    return [one for each in inner for one in _alternatives(each, schema)] if inner else [part]


INTERFACES = {"python": python_names, "command-line": command_line, "http": http_api}


def breaks(snapshot: Table, current: Table) -> list[str]:
    """Return what would break a program that was written for the snapshot; only required additions do."""
    gone = [f"{name} is gone" for name in snapshot if name not in current]
    changed = [
        f"{name} was: {old}; is: {current[name]}" for name, old in snapshot.items() if current.get(name, old) != old
    ]
    return gone + changed + [f"{name} is new and required" for name in _new_requirements(snapshot, current)]


def _new_requirements(snapshot: Table, current: Table) -> list[str]:
    """Return what is new and required in a function, command or operation that the snapshot has."""
    new = [name for name, value in current.items() if value.startswith(REQUIRED) and name not in snapshot]
    return [name for name in new if any(name.startswith((f"{old}(", f"{old} ", f"{old}.")) for old in snapshot)]


def read_snapshot(name: str) -> Table:
    table: Table = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return table


def main() -> None:
    """Write the snapshots, with everything that is new; refuse what would break a program."""
    for name, describe in INTERFACES.items():
        path, current = FOLDER / f"{name}.json", describe()
        if path.exists() and (found := breaks(read_snapshot(name), current)):
            raise SystemExit("\n".join(found))
        path.write_text(
            json.dumps(dict(sorted(current.items())), indent=0, ensure_ascii=False) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
