"""The options that `fans crossval` and `fans reproduce` share."""

from typing import Annotated, Literal

import typer

from fansrec.cli.device_options import DEFAULT_DEVICE

EXECUTION = "Execution"

Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of parallel training runs, one thread each",
        show_default="number of cores",
        rich_help_panel=EXECUTION,
    ),
]
Device = Annotated[
    Literal["cpu", "cuda"] | None,
    typer.Option(help="Device to run on", show_default=DEFAULT_DEVICE, rich_help_panel=EXECUTION),
]
