"""The options of every verb that can run on a cluster."""

from typing import Annotated, Literal

import typer

from fansrec.errors import BadSetting

CLUSTER = "Beyond one machine"

Engine = Annotated[
    Literal["local", "ray"],
    typer.Option(help="Work in this process, or on a Ray cluster (extra [ray])", rich_help_panel=CLUSTER),
]
Address = Annotated[
    str | None,
    typer.Option(
        envvar="RAY_ADDRESS",
        help="The cluster: HOST:PORT, or auto on one of its machines",
        show_default="a local one, for as long as the command runs",
        rich_help_panel=CLUSTER,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Processes that share the work",
        show_default="one for each core, or GPU where GPUs are used",
        rich_help_panel=CLUSTER,
    ),
]


def refuse_without_ray(engine: str, **given: object) -> None:
    """Options that mean something on a cluster alone must not be passed over in silence."""
    for name, value in given.items():
        if engine != "ray" and value is not None:
            raise BadSetting(f"--{name.replace('_', '-')} goes with --engine ray")
