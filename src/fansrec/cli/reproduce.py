"""`fans reproduce`: the paper's tables and figures, on the available data sets."""

from pathlib import Path
from typing import Annotated

import typer

from fansrec.cli.options import ExperimentDevice, ParallelRuns, path_option, usable_device
from fansrec.cli.progress_bars import JobBar
from fansrec.cli.terminal import Terminal, echo
from fansrec.errors import Unfinished


def reproduce(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="WHAT",
            help="table1, table2, table3, table4, fig-category, fig-recall, fig-time, industry, or all",
        ),
    ],
    out: Annotated[
        Path | None,
        path_option(
            help="Folder for corpora, results and the report", show_default="reproduction, or reproduction-quick"
        ),
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(help="Only these data sets, comma-separated", show_default="all that are available")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Random seeds of training, comma-separated", show_default="0,1,2")
    ] = None,
    workers: ParallelRuns = None,
    device: ExperimentDevice = None,
    only_report: Annotated[
        bool, typer.Option("--only-report", help="Prepare the corpora and report finished results; train nothing")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run a smoke test in about a minute; its figures are meaningless")
    ] = False,
) -> None:
    """Reproduce the paper's tables and figures, with the published numbers beside ours.

    Example: `fans reproduce table2 --datasets aotm --seeds 0`

    Every system is trained and evaluated. Finished results are kept in OUT, so the same command resumes an interrupted
    run; the report is OUT/report.md and OUT/report.html. Data sets without files are skipped: `fans data list` shows
    how to get them.

    All experiments take days on a few cores and hours on a GPU. To use a bare GPU machine, first run this with
    --only-report, which prepares the corpora and trains nothing. Copy OUT/corpora/ there, run
    `python -m fansrec.experiments paper`, copy its cells/ and timings/ back into OUT and run this again for the report.
    Copy runs/ back as well if timings made here should use trained weights: without them, weights are random, and the
    report says so.

    Guide: docs/how-to/reproduce-the-paper.md
    """
    from fansrec.experiments.command_line import parse_integers
    from fansrec.experiments.machine import hide_gpu
    from fansrec.experiments.paper.catalogue import select
    from fansrec.experiments.paper.reproduce import reproduce as run

    hide_gpu(device)
    names = None if datasets is None else [name.strip() for name in datasets.split(",") if name.strip()]
    selection = select(what, names, None if seeds is None else parse_integers("--seeds", seeds), quick)
    folder = out or Path("reproduction-quick" if quick else "reproduction")
    with JobBar(Terminal(stderr=True)) as bar:
        reports, unfinished = run(selection, folder, bar, workers, usable_device(device), only_report)
    echo(*(f"written: {path}" for path in reports))
    if unfinished:
        raise Unfinished(f"{unfinished} jobs did not finish; fix the errors above and run this again")
