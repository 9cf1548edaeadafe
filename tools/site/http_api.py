"""The page of the HTTP API, from the description that the service gives of itself in /openapi.json."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fansrec.serving.app import framework_app
from fansrec.serving.continue_route import ContinueRoute
from fansrec.serving.settings import ModelSpec, Settings

INTRODUCTION = """# HTTP API

Every route of `fans serve`, with the default limits. A running service describes itself, with its own limits, at \
`/openapi.json`, and `/docs` has a form to try each route. [Serving API and settings](serving.md) explains answers, \
errors and settings; in Python there is [a client][fansrec.Client].
"""
SUCCESS = "200"


def page() -> str:
    """Return the page as Markdown."""
    api = _describe()
    operations = [
        _operation(method, path, one) for path, methods in api["paths"].items() for method, one in methods.items()
    ]
    schemas = [_schema(name, schema) for name, schema in api["components"]["schemas"].items()]
    return INTRODUCTION + "".join(operations) + "\n## Types\n" + "".join(schemas)


def _describe() -> dict[str, Any]:
    """Return the OpenAPI document of a service with default settings; registering routes needs no models."""
    settings = Settings(models=(ModelSpec(name="model", run=Path("model")),))
    service: Any = SimpleNamespace(settings=settings)
    return framework_app(service, ContinueRoute(service)).openapi()


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    parts = [f"\n## {method.upper()} {path}\n", f"{operation['summary']}."]
    if parameters := operation.get("parameters"):
        rows = [[_code(one["name"]), one["in"], _type(one["schema"]), one.get("description", "")] for one in parameters]
        parts.append(_table(["parameter", "in", "type", "meaning"], rows))
    if body := operation.get("requestBody"):
        schema = body["content"]["application/json"]["schema"]
        parts += ["Body (JSON):", _fields(schema), *map(_example, schema.get("examples", []))]
        parts += [f"`{name}`:\n\n{_fields(inner)}" for name, inner in schema.get("$defs", {}).items()]
    parts.append(_table(["status", "answer"], _answers(operation["responses"])))
    return "\n\n".join(parts) + "\n"


def _answers(responses: dict[str, Any]) -> Iterator[list[str]]:
    for status, response in responses.items():
        schema = response.get("content", {}).get("application/json", {}).get("schema")
        meaning = "" if status == SUCCESS else f"{response['description']}: "
        yield [_code(status), meaning + (_type(schema) if schema else "text" if status == SUCCESS else "")]


def _schema(name: str, schema: dict[str, Any]) -> str:
    return f"\n### {name}\n\n{schema.get('description', '')}\n\n{_fields(schema)}\n"


def _fields(schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    rows = [
        [_code(name), _type(field), _default(name, field, required), field.get("description", "")]
        for name, field in schema.get("properties", {}).items()
    ]
    return _table(["field", "type", "default", "meaning"], rows)


def _default(name: str, field: dict[str, Any], required: list[str]) -> str:
    if name in required:
        return "required"
    return _code(json.dumps(field["default"])) if "default" in field else ""


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})" if schema["$ref"].startswith("#/components") else _code(name)
    if kinds := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(_type(kind) for kind in kinds)
    if "enum" in schema or "const" in schema:
        return " or ".join(_code(json.dumps(value)) for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"array of {_type(schema['items'])}{_limits(schema, 'Items', ' entries')}"
    return schema.get("type", "any") + (_limits(schema, "Length", " characters") or _limits(schema, "imum", ""))


def _limits(schema: dict[str, Any], of: str, unit: str) -> str:
    least, most = (schema.get(f"{end}{of}") for end in ("min", "max"))
    if (least, most) == (None, None) or max(abs(least or 0), abs(most or 0)) > 2**53:  # or the range of 64 bits
        return ""
    if most is None:
        return f" (at least {least:,}{unit})"
    return f" (at most {most:,}{unit})" if least is None else f" ({least:,} to {most:,}{unit})"


def _example(value: Any) -> str:
    return f"```json\n{json.dumps(value)}\n```"


def _table(heads: list[str], rows: Any) -> str:
    lines = [heads, ["---"] * len(heads), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _code(text: str) -> str:
    return f"`{text}`"
