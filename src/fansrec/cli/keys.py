"""`fans keys`: the API keys of a service."""

from pathlib import Path
from typing import Annotated

import typer

from fansrec.cli.options import command_group
from fansrec.cli.terminal import echo, echo_row
from fansrec.errors import BadSetting
from fansrec.serving.http.keys import Role, new_key, read_key_file, remove_key

app = command_group(
    help="Create, list and remove API keys of `fans serve --keys FILE`. A running service notices changes in a second."
)

File = Annotated[Path, typer.Argument(help="The key file; it contains hashes, never keys.")]
Name = Annotated[str, typer.Argument(help="Name of the key, as it appears in logs.")]


@app.command()
def add(
    file: File,
    name: Name,
    admin: Annotated[bool, typer.Option("--admin", help="The key may do everything, including model reloads.")] = False,
    write: Annotated[
        bool, typer.Option("--write", help="The key may also write lists and items, with `fans serve --writes`.")
    ] = False,
    metrics: Annotated[bool, typer.Option("--metrics", help="The key may read /metrics and nothing else.")] = False,
) -> None:
    """Create a key and print it once; the file is created if needed.

    Example: `fans keys add fans.keys website`, or with `--write` for a system that writes lists and items.

    Guide: docs/how-to/operate-the-service.md
    """
    given: dict[Role, bool] = {"admin": admin, "write": write, "metrics": metrics}
    roles = [role for role, chosen in given.items() if chosen]
    if len(roles) > 1:
        options = " and ".join(f"--{role}" for role in roles)
        raise BadSetting(f"{options} exclude each other; an admin key may do everything")
    key = new_key(file, name, roles[0] if roles else "use")
    echo(key)
    echo("Store the key now: it cannot be shown again. Send it as `Authorization: Bearer KEY`.", err=True)


@app.command("list")
def list_keys(file: File) -> None:
    """List the names and roles of the keys.

    Example: `fans keys list fans.keys`
    """
    for entry in read_key_file(file):
        echo_row(entry.name, entry.role)


@app.command()
def remove(file: File, name: Name) -> None:
    """Remove a key; a service that uses the file refuses it from then on.

    Example: `fans keys remove fans.keys website`
    """
    remove_key(file, name)
    echo(f"removed {name}")
