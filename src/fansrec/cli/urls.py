"""Refusal of URLs where a command reads or writes local folders and files."""

import re
from pathlib import Path
from typing import Any

import typer

from fansrec.errors import BadSetting

URL = re.compile(r"(?:[^/=]*=)?([a-z][a-z0-9+.-]+):/+(.*)", re.DOTALL)  # after NAME= of a served model
ADVICE = (
    "give a local path. Only SOURCE of `fans prepare` and --input and --output of `fans continue` can be URLs, which "
    "needs --engine ray"
)


def refuse_url(context: typer.Context, parameter: typer.CallbackParam, value: Any) -> Any:
    """Return the value of a path option or argument; without `--engine ray`, raise BadSetting if it is a URL.

    A `Path` of s3://a/b is s3:/a/b, a relative folder, which would be created without a message.
    """
    if context.params.get("engine") == "ray":  # this option is eager, so that it is known here
        return value
    for path in value if isinstance(value, list | tuple) else [value]:
        if isinstance(path, str | Path) and (found := URL.fullmatch(str(path))):
            url = f"{found[1]}:{'///' if found[1] == 'file' else '//'}{found[2]}"
            raise BadSetting(f"{_flag(parameter)}{url} is a URL; {ADVICE}")
    return value


def _flag(parameter: Any) -> str:
    """Return the flag of an option and a space, or nothing for an argument."""
    return next((f"{flag} " for flag in parameter.opts if flag.startswith("--")), "")
