"""`fans bench`: speed and memory, measured on this machine."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from fansrec.cli.bench_tables import LATENCY, SWEEP, THROUGHPUT, TRAINING, Columns, print_rows
from fansrec.cli.options import Device, Force, Json, check_writable, command_group, path_option, usable_device
from fansrec.cli.progress_bars import StageBar
from fansrec.cli.terminal import Terminal
from fansrec.experiments.speed import options as speed
from fansrec.experiments.speed.options import LatencyOptions, ThroughputOptions
from fansrec.files import write_json

Workload = Annotated[
    str, typer.Option(help="Workloads, comma-separated: spotify, long, small, aotm, zhihu, goodreads, industry")
]
Categories = Annotated[
    str, typer.Option(help="Numbers of categories, comma-separated; 1 is the vanilla classifier, others are two-stage")
]
Arms = Annotated[str, typer.Option(help="Systems to measure, comma-separated")]
Items = Annotated[int | None, typer.Option(min=1, help="Number of items", show_default="that of the real data set")]
Lists = Annotated[int, typer.Option(min=1, help="Maximum number of lists")]
Seconds = Annotated[float, typer.Option(min=0, help="Approximate time for all workloads together, in seconds")]
Repeats = Annotated[int, typer.Option(min=1, help="Number of repeated measurements; their spread is printed")]
RUNS = "Measure this trained model instead of random weights; can be repeated"
Runs = Annotated[list[Path] | None, path_option(metavar="RUN", help=RUNS)]
TrainedOn = Annotated[Path | None, path_option(help="Corpus of --run, whose test lists are continued")]

ALL_ARMS, FAST_ARMS = ",".join(LatencyOptions.arms), ",".join(ThroughputOptions.arms)
CATEGORIES, FEW_CATEGORIES, BATCHES = (
    ",".join(map(str, counts))
    for counts in (LatencyOptions.categories, ThroughputOptions.categories, ThroughputOptions.batches)
)

Row = dict[str, Any]

app = command_group(help="Measure speed and memory: generated data in real sizes, or trained models.")


@app.command()
def training(
    workload: Workload = "aotm,spotify",
    categories: Annotated[int, typer.Option(min=1, help="Number of categories of the two-stage classifier")] = 10,
    batch: Annotated[int, typer.Option(min=1, help="Lists per batch")] = 256,
    batches: Annotated[
        int | None,
        typer.Option(min=1, help="Number of batches to measure", show_default="an epoch of aotm, 4 of others"),
    ] = None,
    json: Json = None,
    force: Force = False,
) -> None:
    """Measure seconds per epoch and peak memory of training on the CPU, with both classifiers.

    Example: `fans bench training --workload aotm --json rows.json`

    `aotm` has 10,352 training lists of 10 to 59 items and 6,264 items; a whole epoch is measured. `spotify` has lists
    of 20 to 300 items and 104,695 items; a few batches are measured.
    """
    from fansrec.experiments.speed.training import training as run

    check_writable(json, force=force)
    names = _workloads(workload)
    with StageBar(Terminal(stderr=True), "measuring") as bar:
        rows = run(names, categories, batch, batches, bar.advance)
    print_rows(rows, TRAINING)
    if json is not None:
        write_json(json, rows)


@app.command()
def latency(
    workload: Workload = "spotify",
    categories: Categories = CATEGORIES,
    batch: Annotated[int, typer.Option(min=1, help="Lists per call")] = 1,
    items: Items = None,
    arms: Arms = ALL_ARMS,
    lists: Lists = LatencyOptions.lists,
    seconds: Seconds = speed.SECONDS,
    repeats: Repeats = speed.REPEATS,
    device: Device = None,
    run: Runs = None,
    corpus: TrainedOn = None,
    json: Json = None,
    force: Force = False,
) -> None:
    """Measure milliseconds per answer of several systems that take turns on the same lists.

    Example: `fans bench latency --workload spotify,small --categories 10,100 --json rows.json`

    Trained models on their test lists: `fans bench latency --run runs/fans --run runs/bert4rec --corpus corpora/aotm`

    The systems are: authors (the published code, for FANS and BERT4Rec), eager (plain torch), compiled (FANS through
    torch.compile; only on request, as it compiles for minutes on a CPU), autoregressive (BERT4Rec and SASRec on the
    fastest backend), linear (EASE, item-kNN), ours (FANS on the fastest backend, with --recipe paper and best).

    Without --run, lists and weights are generated in the sizes of real data sets. The second half of each list is
    requested, and input items may be repeated. Slow systems answer fewer of the same lists; ratios are over the lists
    that both answered. Peak MB are those of the process with all systems, work MB what the calls of one system added.

    Guide, with the columns of the rows: docs/how-to/measure-speed.md
    """
    from fansrec.experiments.speed.latency import latency as measure

    sizes = {"batch": batch, "items": items, "lists": lists, "repeats": repeats, "run": run or (), "corpus": corpus}
    options = _options(LatencyOptions, workload, categories, arms, seconds, device, **sizes)
    _report(measure, options, LATENCY, json, force)


@app.command()
def throughput(
    workload: Workload = "spotify",
    categories: Categories = FEW_CATEGORIES,
    batch: Annotated[str, typer.Option(help="Lists per call, comma-separated")] = BATCHES,
    items: Items = None,
    arms: Arms = FAST_ARMS,
    lists: Lists = ThroughputOptions.lists,
    seconds: Seconds = speed.SECONDS,
    repeats: Repeats = speed.REPEATS,
    device: Device = None,
    run: Runs = None,
    corpus: TrainedOn = None,
    json: Json = None,
    force: Force = False,
) -> None:
    """Measure lists per second by lists per call, with real list lengths and padded to the longest.

    Example: `fans bench throughput --categories 100 --batch 64,1024 --json rows.json`

    A trained model on its test lists: `fans bench throughput --run runs/fans --corpus corpora/aotm --batch 1,64`

    Guide, with the columns of the rows: docs/how-to/measure-speed.md
    """
    from fansrec.experiments.command_line import parse_integers
    from fansrec.experiments.speed.throughput import throughput as measure

    sizes = {"items": items, "lists": lists, "repeats": repeats, "run": run or (), "corpus": corpus}
    batches = parse_integers("--batch", batch, 1)
    options = _options(ThroughputOptions, workload, categories, arms, seconds, device, batches=batches, **sizes)
    _report(measure, options, THROUGHPUT, json, force)


@app.command()
def sweep(
    json: Annotated[Path, path_option(help="Write the rows to this JSON file")],
    plot: Annotated[Path | None, path_option(help="Plot the rows to this PNG file")] = None,
    force: Force = False,
    lists: Lists = speed.SweepOptions.lists,
    seconds: Seconds = speed.SECONDS,
    device: Device = None,
) -> None:
    """Measure latency by number of items, of categories, of generated items and of lists per call.

    Example: `fans bench sweep --json sweep.json --plot sweep.png`
    """
    from fansrec.experiments.speed.sweep import sweep as run

    check_writable(plot, force=force)
    options = speed.SweepOptions(device=usable_device(device), lists=lists, seconds=seconds)
    rows = _report(run, [options], SWEEP, json, force)
    if plot is not None:
        from fansrec.experiments.speed.drawing import draw_sweep

        draw_sweep(rows, plot)


def _report(
    run: Callable[..., list[Row]], options: list[Any], columns: Columns, json: Path | None, force: bool
) -> list[Row]:
    """Run a benchmark with each of `options` and a progress line; print its rows by workload, write them to `json`."""
    check_writable(json, force=force)
    console = Terminal(stderr=True)
    with StageBar(console, "building models") as bar:

        def progress(done: int, total: int) -> None:
            bar.stage("measuring")
            bar.advance(done, total)

        rows = [row for one in options for row in run(one, console.say, progress)]
    for name in dict.fromkeys(row["workload"] for row in rows):
        print_rows([row for row in rows if row["workload"] == name], columns, title=name)
    if json is not None:
        write_json(json, rows)
    return rows


def _options(
    kind: Callable[..., Any],
    workload: str,
    categories: str,
    arms: str,
    seconds: float,
    device: str | None,
    **sizes: Any,
) -> list[Any]:
    """Return the options of each workload, which share the time."""
    from fansrec.experiments.command_line import parse_integers

    names, counts = _workloads(workload), parse_integers("--categories", categories, 1)
    shared = {"categories": counts, "arms": arms.split(","), "device": usable_device(device), **sizes}
    return [kind(workload=name, seconds=seconds / len(names), **shared) for name in names]


def _workloads(names: str) -> list[str]:
    from fansrec.experiments.speed.workloads import workload

    for name in names.split(","):
        workload(name)  # refuses an unknown one
    return names.split(",")
