"""`fans bench`: measured, never claimed."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from fansrec.cli.bench_tables import LATENCY, SWEEP, THROUGHPUT, TRAINING, Columns, print_rows
from fansrec.cli.devices import usable_device
from fansrec.cli.places import make_room
from fansrec.cli.terminal import Terminal
from fansrec.errors import BadSetting
from fansrec.experiments.speed import defaults
from fansrec.files import write_json

MEASURED = {"aotm": 41}  # batches
FEW = 4  # batches of sets whose epoch takes minutes

Workload = Annotated[
    str, typer.Option(help="spotify, long, small, aotm, zhihu, goodreads, industry; several with commas")
]
Categories = Annotated[
    str, typer.Option(help="Of the two-stage classifier, 1 for the vanilla one; several with commas")
]
Items = Annotated[int | None, typer.Option(min=1, help="How many there are", show_default="as many as the real set")]
Seconds = Annotated[float, typer.Option(min=0, help="About so long for all workloads together")]
Repeats = Annotated[int, typer.Option(min=1, help="How often all is measured; the spread is shown")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, …", show_default="a GPU if there is one, else cpu")]
Json = Annotated[Path | None, typer.Option(help="Write the rows there")]
ALL_ARMS, FAST_ARMS = ",".join(defaults.ARMS), ",".join(defaults.THROUGHPUT_ARMS)
CATEGORIES, FAST_CATEGORIES = (
    ",".join(map(str, counts)) for counts in (defaults.CATEGORIES, defaults.THROUGHPUT_CATEGORIES)
)
BATCHES = ",".join(map(str, defaults.BATCHES))

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
    from fansrec.experiments.speed.training import measure

    make_room(json)
    names = _workloads(workload)
    rows = []
    with Terminal(stderr=True).status("measuring …") as status:
        for name in names:
            for classifier in ("vanilla", "two-stage"):
                status.update(f"measuring {name}, {classifier} …")
                rows.append(measure(name, classifier, categories, batch, batches or MEASURED.get(name, FEW)))
    print_rows(rows, TRAINING)
    if json is not None:
        write_json(json, rows)


@app.command()
def latency(
    workload: Workload = "spotify",
    categories: Categories = CATEGORIES,
    batch: Annotated[int, typer.Option(min=1, help="Lists a call")] = 1,
    items: Items = None,
    arms: Annotated[str, typer.Option(help="Which systems; several with commas")] = ALL_ARMS,
    lists: Annotated[int, typer.Option(min=1, help="At most so many")] = defaults.LISTS,
    seconds: Seconds = defaults.SECONDS,
    repeats: Repeats = defaults.REPEATS,
    device: Device = None,
    json: Json = None,
) -> None:
    """Milliseconds an answer, all systems in turns on the same lists.

    authors: what the published code does, for FANS and BERT4Rec. eager: plain torch. autoregressive: BERT4Rec and
    SASRec on the fastest backend here. linear: EASE, item-kNN. ours: FANS on the fastest backend here, --recipe paper
    and best.

    Lists and weights are generated, in the sizes of real sets; the second half of each list is asked for, and items of
    the input may come again. Slow systems are given fewer of the same lists; ratios are over the lists that both were
    given.

    Example: `fans bench latency --workload spotify,small --categories 10,100 --json rows.json`
    """
    from fansrec.experiments.speed.latency import Asked, latency

    make_room(json)
    names, place = _workloads(workload), usable_device(device)
    asked = [
        Asked(
            workload=name,
            items=items,
            categories=_counts("--categories", categories),
            arms=arms.split(","),
            batch=batch,
            lists=lists,
            seconds=seconds / len(names),
            repeats=repeats,
            device=place,
        )
        for name in names
    ]
    _report(lambda tell, progress: [row for one in asked for row in latency(one, tell, progress)], LATENCY, json)


@app.command()
def throughput(
    workload: Workload = "spotify",
    categories: Categories = FAST_CATEGORIES,
    batch: Annotated[str, typer.Option(help="Lists a call; several with commas")] = BATCHES,
    items: Items = None,
    arms: Annotated[str, typer.Option(help="Which systems; several with commas")] = FAST_ARMS,
    lists: Annotated[int, typer.Option(min=1, help="At most so many")] = defaults.THROUGHPUT_LISTS,
    seconds: Seconds = defaults.SECONDS,
    repeats: Repeats = defaults.REPEATS,
    device: Device = None,
    json: Json = None,
) -> None:
    """Lists a second by lists a call, with the lengths of real lists and padded to the longest.

    Example: `fans bench throughput --categories 100 --batch 64,1024 --json rows.json`
    """
    from fansrec.experiments.speed.throughput import AskedOften, throughput

    make_room(json)
    names, place = _workloads(workload), usable_device(device)
    asked = [
        AskedOften(
            workload=name,
            items=items,
            categories=_counts("--categories", categories),
            arms=arms.split(","),
            batches=_counts("--batch", batch),
            lists=lists,
            seconds=seconds / len(names),
            repeats=repeats,
            device=place,
        )
        for name in names
    ]
    _report(lambda tell, progress: [row for one in asked for row in throughput(one, tell, progress)], THROUGHPUT, json)


@app.command()
def sweep(
    json: Annotated[Path, typer.Option(help="Write the rows there")],
    plot: Annotated[Path | None, typer.Option(help="Draw them there, as PNG")] = None,
    lists: Annotated[int, typer.Option(min=1, help="At most so many")] = defaults.SWEEP_LISTS,
    seconds: Seconds = defaults.SECONDS,
    device: Device = None,
) -> None:
    """Latency against the number of items, of categories, of items generated and of lists a call.

    Example: `fans bench sweep --json sweep.json --plot sweep.png`
    """
    from fansrec.experiments.speed.sweep import Sweep
    from fansrec.experiments.speed.sweep import sweep as run

    make_room(json)
    make_room(plot)
    asked = Sweep(device=usable_device(device), lists=lists, seconds=seconds)
    rows = _report(lambda tell, progress: run(asked, tell), SWEEP, json)
    if plot is not None:
        from fansrec.experiments.speed.drawing import draw_sweep

        draw_sweep(rows, plot)


Work = Callable[[Callable[[str], None], Callable[[int, int], None]], list[dict[str, Any]]]


def _report(work: Work, columns: Columns, json: Path | None) -> list[dict[str, Any]]:
    """Measure, saying what cannot be run and how far it is; then print and write the rows."""
    console = Terminal(stderr=True)
    with console.status("making models …") as status:
        rows = work(
            console.say,
            lambda done, of: status.update(f"{done} of {of} calls …"),
        )
    for name in dict.fromkeys(row["workload"] for row in rows):
        print_rows([row for row in rows if row["workload"] == name], columns, title=name)
    if json is not None:
        write_json(json, rows)
    return rows


def _workloads(names: str) -> list[str]:
    from fansrec.experiments.speed.workloads import workload

    for name in names.split(","):
        workload(name)  # refuses what is not there
    return names.split(",")


def _counts(option: str, text: str) -> list[int]:
    try:
        counts = list(dict.fromkeys(int(count) for count in text.split(",")))
    except ValueError:
        counts = [0]
    if min(counts) < 1:
        raise BadSetting(f"{option} is {text!r}; give numbers of at least 1, with commas, as in 10,100")
    return counts
