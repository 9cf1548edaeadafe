"""`fans bench`: measured, never claimed."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.status import Status
from rich.table import Table

from fansrec.cli.devices import usable_device
from fansrec.cli.places import make_room
from fansrec.errors import BadSetting
from fansrec.files import write_json

MEASURED = {"aotm": 41}  # batches
FEW = 4  # batches of sets whose epoch takes minutes

app = typer.Typer(help="Measure speed and memory on generated data of real sizes.", no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Measure speed and memory on generated data of real sizes."""


@app.command()
def training(
    workload: Annotated[str, typer.Option(help="aotm, spotify, …; several with commas")] = "aotm,spotify",
    categories: Annotated[int, typer.Option(min=1, help="Of the two-stage classifier")] = 10,
    batch: Annotated[int, typer.Option(min=1, help="Lists a batch")] = 256,
    batches: Annotated[
        int | None, typer.Option(min=1, help="Measure so many", show_default="an epoch of aotm, 4 of others")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write the rows there")] = None,
) -> None:
    """Seconds an epoch and peak memory of training, both classifiers, on this machine's CPU.

    `aotm` has 10,352 training lists of 10 to 59 items and 6,264 items, all batches measured; `spotify` has lists of 20
    to 300 items and 104,695 items, a few batches measured.
    """
    from fansrec.bench.training import measure

    make_room(json)
    names = _workloads(workload)
    rows = []
    with Console(stderr=True).status("measuring …") as status:
        for name in names:
            for classifier in ("vanilla", "two-stage"):
                status.update(f"measuring {name}, {classifier} …")
                rows.append(measure(name, classifier, categories, batch, batches or MEASURED.get(name, FEW)))
    _print(rows, TRAINING)
    if json is not None:
        write_json(json, rows)


@app.command()
def latency(
    workload: Annotated[
        str,
        typer.Option(help="spotify, long, small, aotm, zhihu, goodreads, industry; several with commas"),
    ] = "spotify",
    categories: Annotated[str, typer.Option(help="Of the two-stage classifier; several with commas")] = "10,100",
    batch: Annotated[int, typer.Option(min=1, help="Lists a call")] = 1,
    lists: Annotated[int, typer.Option(min=1, help="At most so many")] = 100,
    seconds: Annotated[float, typer.Option(min=0, help="About so long for each workload")] = 90,
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda, …", show_default="a GPU if there is one, else cpu")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Write the rows there")] = None,
) -> None:
    """Milliseconds an answer: FANS in one pass beside BERT4Rec, SASRec and GRU4Rec one by one, on the same lists.

    Lists and weights are generated, in the sizes of real sets; the second half of each list is asked for, and items of
    the input may come again. Slow models are given fewer of the same lists; a speed-up is over BERT4Rec, on the lists
    that both were given.

    Example: `fans bench latency --workload spotify,small --categories 10,100 --json rows.json`
    """
    from fansrec.bench.latency import one_by_one_against_one_pass
    from fansrec.bench.workloads import WORKLOADS

    names, counts, place = _workloads(workload), _counts(categories), usable_device(device)
    make_room(json)
    for name in names:
        if max(counts) > WORKLOADS[name].items:
            raise BadSetting(f"--categories {max(counts)} is more than the {WORKLOADS[name].items:,} items of {name}")
    rows = []
    with Console(stderr=True).status("making models …") as status:
        for name in names:
            tell = partial(_tell, status, name)
            sizes = (WORKLOADS[name].items, counts, lists, place, name, seconds)
            rows += one_by_one_against_one_pass(*sizes, batch=batch, progress=tell)
    _print(rows, LATENCY)
    if json is not None:
        write_json(json, rows)


def _tell(status: Status, workload: str, done: int, of: int) -> None:
    status.update(f"{workload}: {done} of at most {of} calls …")


def _workloads(names: str) -> list[str]:
    from fansrec.bench.workloads import workload

    for name in names.split(","):
        workload(name)  # refuses what is not there
    return names.split(",")


def _counts(text: str) -> list[int]:
    try:
        counts = list(dict.fromkeys(int(count) for count in text.split(",")))
    except ValueError:
        counts = [0]
    if min(counts) < 1:
        raise BadSetting(f"--categories is {text!r}; give numbers of at least 1, with commas, as in 10,100")
    return counts


TRAINING = {"workload": "", "classifier": "", "items": ",", "batch": "", "step_s": ".3f", "epoch_s": ".2f"}
TRAINING |= {"lists_per_s": ",.0f", "peak_gb": ".2f"}
LATENCY = {"workload": "", "variant": "", "categories": "", "p50_ms": ".2f", "p99_ms": ".2f", "lists": ""}
LATENCY |= {"speedup": ".1f", "speedup_lists": ""}


def _print(rows: list[dict[str, Any]], shown: dict[str, str]) -> None:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in shown:
        table.add_column(name.replace("_", " "), justify="left" if isinstance(rows[0][name], str) else "right")
    for row in rows:
        table.add_row(*[format(row[name], form) for name, form in shown.items()])
    Console().print(table)
