"""`fans bench`: measured, never claimed."""

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from fansrec.errors import BadSetting
from fansrec.files import write_json

MEASURED = {"aotm": 41, "spotify": 4}  # batches

app = typer.Typer(help="Measure speed and memory on generated data of real sizes.", no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Measure speed and memory on generated data of real sizes."""


@app.command()
def training(
    workload: Annotated[str, typer.Option(help="aotm, spotify or both, with a comma")] = "aotm,spotify",
    categories: Annotated[int, typer.Option(min=1, help="Of the two-stage classifier")] = 10,
    batch: Annotated[int, typer.Option(min=1, help="Lists a batch")] = 256,
    batches: Annotated[
        int | None, typer.Option(min=1, help="Measure so many", show_default="an epoch, or 4 of spotify")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write the rows there")] = None,
) -> None:
    """Seconds an epoch and peak memory of training, both classifiers, on this machine's CPU.

    `aotm` has 10,352 training lists of 10 to 59 items and 6,264 items, all batches measured; `spotify` has lists of 20
    to 300 items and 104,695 items, a few batches measured.
    """
    from fansrec.bench.training import measure
    from fansrec.bench.workloads import WORKLOADS

    names = workload.split(",")
    for name in names:
        if name not in WORKLOADS:
            raise BadSetting(f"there is no workload {name!r}; choose from {', '.join(WORKLOADS)}")
    rows = []
    with Console(stderr=True).status("measuring …") as status:
        for name in names:
            for classifier in ("vanilla", "two-stage"):
                status.update(f"measuring {name}, {classifier} …")
                rows.append(measure(name, classifier, categories, batch, batches or MEASURED[name]))
    _print(rows)
    if json is not None:
        write_json(json, rows)


def _print(rows: list[dict[str, object]]) -> None:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown = {"workload": "", "classifier": "", "items": ",", "batch": "", "step_s": ".3f", "epoch_s": ".2f"}
    shown |= {"lists_per_s": ",.0f", "peak_gb": ".2f"}
    for name in shown:
        table.add_column(name, justify="left" if name in ("workload", "classifier") else "right")
    for row in rows:
        table.add_row(*[format(row[name], form) for name, form in shown.items()])
    Console().print(table)
