"""`fans keys`: who may use a service."""

from pathlib import Path
from typing import Annotated

import typer

from fansrec.cli.terminal import echo, echo_row
from fansrec.errors import BadSetting
from fansrec.serving.http.keys import new_key, read_key_file, remove_key

app = typer.Typer(
    help="Make, list and remove the API keys of `fans serve --keys FILE`; a running service follows within a second.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

File = Annotated[Path, typer.Argument(help="The key file; it holds hashes, never keys.")]
Name = Annotated[str, typer.Argument(help="Whose key it is, as logs call it.")]


@app.command()
def add(
    file: File,
    name: Name,
    admin: Annotated[bool, typer.Option("--admin", help="The key may do everything, also reload models.")] = False,
    metrics: Annotated[bool, typer.Option("--metrics", help="The key may read /metrics and nothing else.")] = False,
) -> None:
    """Make a key and print it, this once; the file is made if there is none."""
    if admin and metrics:
        raise BadSetting("--admin and --metrics exclude each other; an admin key may read /metrics as well")
    key = new_key(file, name, "admin" if admin else "metrics" if metrics else "use")
    echo(key)
    echo("Keep it now: it cannot be shown again. Send it as `Authorization: Bearer KEY`.", err=True)


@app.command("list")
def list_keys(file: File) -> None:
    """Show whose keys there are and what they open."""
    for entry in read_key_file(file):
        echo_row(entry.holder.name, entry.holder.role)


@app.command()
def remove(file: File, name: Name) -> None:
    """Take a key away."""
    remove_key(file, name)
    echo(f"removed {name}")
