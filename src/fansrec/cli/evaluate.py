"""`fans evaluate`: metrics of trained models on a corpus."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.progress import TimeRemainingColumn

from fansrec.cli.options import Backend, Device, Fill, Force, check_writable, usable_device
from fansrec.cli.progress_bars import progress_bar
from fansrec.cli.terminal import Terminal, echo
from fansrec.files import write_json
from fansrec.printable import printable

if TYPE_CHECKING:
    from fansrec.data.corpus import Corpus
    from fansrec.evaluation.protocol import Protocol

file_option, protocol_option = (
    partial(typer.Option, rich_help_panel=panel) for panel in ("Files", "Protocol (each has its own defaults)")
)

RUNS = "Folders of trained models, made by `fans train`"
MASKS = "Number of requested items: as many as the real continuation has, or 10"
GENERATION = "Generation mode: all items in one pass, item by item, or the best items of one prediction"
FILL = (
    "How items are assigned to positions: as in the paper's appendix, as in the authors' code, or "
    "arranged: the best items in their most likely order (fans with --recipe best)"
)
GIVEN = (
    "Evaluate short inputs too: comma-separated numbers of given items, such as 1,2,3,5,10. A model is given only "
    "the last items before the target, which stays the same"
)
BACKEND = "the fastest in full precision: native or torch"


def evaluate(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help=RUNS)],
    corpus: Annotated[Path, file_option(help="Corpus that they were trained on")],
    json: Annotated[Path | None, file_option(help="Write the rows to this JSON file")] = None,
    html: Annotated[Path | None, file_option(help="Write a report with plots to this HTML file")] = None,
    part: Annotated[Literal["test", "valid", "train"], typer.Option(help="Part of the corpus to evaluate on")] = "test",
    protocol: Annotated[Literal["paper", "standard", "both"], protocol_option(help="Evaluation protocol")] = "both",
    input_: Annotated[
        Literal["kept", "excluded"] | None, protocol_option("--input", help="Whether answers may repeat input items")
    ] = None,
    masks: Annotated[Literal["target", "10"] | None, protocol_option(help=MASKS)] = None,
    given: Annotated[str | None, protocol_option(help=GIVEN, show_default="only the whole input")] = None,
    generation: Annotated[
        Literal["one-pass", "autoregressive", "recall"] | None,
        typer.Option(help=GENERATION, show_default="the model's own"),
    ] = None,
    fill: Annotated[Fill, typer.Option(help=FILL)] = "by-position",
    force: Force = False,
    device: Device = None,
    backend: Annotated[Backend | None, typer.Option(help="Backend to run on", show_default=BACKEND)] = None,
) -> None:
    """Evaluate trained models: NDCG and HR at 5 and 10 with confidence intervals, order, coverage, latency.

    Example: `fans evaluate runs/fans runs/popularity --corpus corpora/aotm --json metrics.json --html report.html`

    The metrics of the two protocols cannot be compared with each other; each row says how many lists it is based on.

    People begin with one item: `--given 1,2,3,5,10` shows how accuracy grows with the number of given items.
    """
    if html is not None:
        from fansrec.evaluation.report import write_report  # first, so that a missing extra is reported before the work
    from fansrec.data.corpus import read_corpus
    from fansrec.evaluation.formatting import protocol_label
    from fansrec.evaluation.protocol import protocol as protocol_by_name
    from fansrec.evaluation.tables import print_tables

    check_writable(json, html, force=force)
    names = ("paper", "standard") if protocol == "both" else (protocol,)
    lengths = [None, *_parse_given(given)]
    prepared = read_corpus(corpus)
    protocols = [protocol_by_name(name, input_, masks, length) for name in names for length in lengths]
    settings: dict[str, Any] = {"part": part, "fill": fill, "device": usable_device(device), "backend": backend}
    rows, configs = _evaluate(runs, prepared, protocols, generation, **settings)
    if json is not None:
        write_json(json, rows)
    if html is not None:
        write_report(html, rows, configs, prepared.summary)
    print_tables(rows, Terminal())
    for row in rows:
        if row["short_answers"]:
            echo(
                f"{row['run']}, {protocol_label(row)}: {row['short_answers']:,} answers are shorter than requested, "
                f"as no more items were allowed",
                err=True,
            )
    for path in filter(None, (json, html)):
        echo(f"written: {path}")


def _parse_given(text: str | None) -> list[int]:
    from fansrec.experiments.command_line import parse_integers

    return [] if text is None else sorted(parse_integers("--given", text, minimum=1))


def _evaluate(
    runs: list[Path], corpus: "Corpus", protocols: "list[Protocol]", generation: str | None, **settings: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return one row per run and protocol, timed if its inputs are whole, and the configuration of every run."""
    from fansrec.evaluation.rows import measure_run, open_run

    for run in runs[1:]:  # all are checked before the first is evaluated, so that an error does not waste its work
        open_run(run, corpus, generation)
    rows, configs = [], []
    with progress_bar(Terminal(stderr=True), TimeRemainingColumn()) as bar:
        task = bar.add_task("reading", total=None)

        def advance(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        for run in runs:
            artifact = open_run(run, corpus, generation)
            configs.append(artifact.config)
            for one in protocols:
                title = f"{artifact.folder.name}, {one.name}" + (f", {one.given} given" if one.given else "")
                bar.update(task, description=printable(title), completed=0, total=None)
                measured = measure_run(
                    artifact, corpus, one, **settings, progress=advance, generation=generation, timed=one.given is None
                )
                rows.append(measured.row)
    return rows, configs
