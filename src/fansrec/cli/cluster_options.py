"""The options of every command that can run on a Ray cluster."""

from typing import Annotated, Literal

import typer

from fansrec.errors import BadSetting

CLUSTER = "Cluster"

Engine = Annotated[
    Literal["local", "ray"],
    typer.Option(help="Run in this process, or on a Ray cluster (extra [ray])", rich_help_panel=CLUSTER),
]
Address = Annotated[
    str | None,
    typer.Option(
        envvar="RAY_ADDRESS",
        help="Address of the cluster: HOST:PORT, or auto on one of its machines",
        show_default="a local cluster for the duration of the command",
        rich_help_panel=CLUSTER,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of worker processes",
        show_default="one per core, or per GPU where GPUs are used",
        rich_help_panel=CLUSTER,
    ),
]


def refuse_without_ray(engine: str, **options: object) -> None:
    """Refuse options that only have an effect with `--engine ray`."""
    for name, value in options.items():
        if engine != "ray" and value is not None:
            raise BadSetting(f"--{name.replace('_', '-')} needs --engine ray; add it, or leave out the option")
