"""`fans evaluate`: metrics of trained models on a corpus."""

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.progress import TimeRemainingColumn

from fansrec.cli.options import (
    Backend,
    Device,
    Diversity,
    Fill,
    Force,
    Freshness,
    Popularity,
    check_writable,
    usable_device,
)
from fansrec.cli.progress_bars import progress_bar
from fansrec.cli.terminal import Terminal, echo
from fansrec.cli.urls import refuse_url
from fansrec.files import write_json
from fansrec.printable import printable

file_option, metric_option, protocol_option = (
    partial(typer.Option, rich_help_panel=panel)
    for panel in ("Files", "Metrics and examples", "Protocol (each has its own defaults)")
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
AT = "Positions n at which metrics are taken, comma-separated. Above 10, the protocol standard requests that many items"
BY = "Metric that decides which run is better: NDCG, HR, recall, precision, MAP or MRR at 5, 10 or a position of --at"
EXAMPLES = "Number of test lists whose continuations are shown, evenly spaced over all"
BACKEND = "the fastest in full precision: native or torch"


def evaluate(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help=RUNS, callback=refuse_url)],
    corpus: Annotated[Path, file_option(help="Corpus that they were trained on", callback=refuse_url)],
    json: Annotated[Path | None, file_option(help="Write the rows to this JSON file", callback=refuse_url)] = None,
    html: Annotated[
        Path | None, file_option(help="Write a report with plots to this HTML file", callback=refuse_url)
    ] = None,
    part: Annotated[Literal["test", "valid", "train"], typer.Option(help="Part of the corpus to evaluate on")] = "test",
    at: Annotated[str, metric_option(help=AT)] = "5,10",
    by: Annotated[str, metric_option(help=BY)] = "NDCG@5",
    examples: Annotated[int, metric_option(min=0, help=EXAMPLES)] = 3,
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
    diversity: Diversity = 0.0,
    popularity: Popularity = 0.0,
    freshness: Freshness = 0.0,
    force: Force = False,
    device: Device = None,
    backend: Annotated[Backend | None, typer.Option(help="Backend to run on", show_default=BACKEND)] = None,
) -> None:
    """Evaluate trained models and compare them list by list, with confidence intervals of the differences.

    Example: `fans evaluate runs/fans runs/ease --corpus corpora/aotm --json metrics.json --html report.html`

    Prints the runs sorted by --by, the best one first, and which differences from it are significant. Then follow the
    metric by groups of lists (short and long inputs, popular and rare items, new items), recall, precision, MAP, MRR,
    novelty, order and diversity, and example continuations. The metrics of the two protocols cannot be compared with
    each other; each row says how many lists it is based on.

    People begin with one item: `--given 1,2,3,5,10` shows how accuracy grows with the number of given items.

    Guide, with the fields of the JSON file: docs/how-to/evaluate.md
    """
    from fansrec.evaluation.evaluate import evaluate as evaluate_runs
    from fansrec.evaluation.formatting import protocol_label
    from fansrec.evaluation.tables import print_evaluation

    check_writable(json, html, force=force)
    with progress_bar(Terminal(stderr=True), TimeRemainingColumn()) as bar:
        task = bar.add_task("reading", total=None)
        rows = evaluate_runs(
            runs,
            corpus,
            at=_parse("--at", at),
            by=by,
            part=part,
            protocol=protocol,
            input=input_,
            masks=masks,
            given=[] if given is None else _parse("--given", given),
            generation=generation,
            fill=fill,
            diversity=diversity,
            popularity=popularity,
            freshness=freshness,
            device=usable_device(device),
            backend=backend,
            examples=examples,
            html=html,
            progress=lambda title, done, total: bar.update(
                task, description=printable(title), completed=done, total=total
            ),
        )
    if json is not None:
        write_json(json, rows)
    print_evaluation(rows, Terminal())
    for row in rows:
        if row["short_answers"]:
            echo(
                f"{row['run']}, {protocol_label(row)}: {row['short_answers']:,} answers are shorter than requested, "
                f"as no more items were allowed",
                err=True,
            )
    for path in filter(None, (json, html)):
        echo(f"written: {path}")


def _parse(option: str, text: str) -> list[int]:
    from fansrec.experiments.command_line import parse_integers

    return parse_integers(option, text, minimum=1)
