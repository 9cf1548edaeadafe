"""`fans evaluate`: trained models and a corpus in, figures out."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from fansrec.cli.devices import Backend, usable_device
from fansrec.cli.places import make_room
from fansrec.cli.terminal import Terminal, echo
from fansrec.files import write_json
from fansrec.printable import printable

if TYPE_CHECKING:
    from fansrec.data.corpus import Corpus
    from fansrec.evaluation.protocol import Protocol

FILES, PROTOCOL = "Files", "Protocol (each brings its own defaults)"


def evaluate(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Trained models, as `fans train` leaves them")],
    corpus: Annotated[Path, typer.Option(help="The corpus they were trained on", rich_help_panel=FILES)],
    json: Annotated[Path | None, typer.Option(help="Write the figures there", rich_help_panel=FILES)] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a report with plots there, one file", rich_help_panel=FILES)
    ] = None,
    part: Annotated[Literal["test", "valid", "train"], typer.Option(help="Which lists of the corpus")] = "test",
    protocol: Annotated[
        Literal["paper", "standard", "both"], typer.Option(help="How they are judged", rich_help_panel=PROTOCOL)
    ] = "both",
    input_: Annotated[
        Literal["kept", "excluded"] | None,
        typer.Option("--input", help="Whether items of the input may come again", rich_help_panel=PROTOCOL),
    ] = None,
    masks: Annotated[
        Literal["target", "10"] | None,
        typer.Option(help="How many items are asked for: as many as there really are, or 10", rich_help_panel=PROTOCOL),
    ] = None,
    generation: Annotated[
        Literal["one-pass", "autoregressive", "recall"] | None,
        typer.Option(
            help="How answers are made: all at once, one by one, or the best of one prediction",
            show_default="the model's own way",
        ),
    ] = None,
    fill: Annotated[
        Literal["by-position", "depth-first", "arranged"],
        typer.Option(
            help="How positions become a list: as in the paper's appendix, or in the authors' code; arranged: the best "
            "items in the order they are likely to have (fans of --recipe best)"
        ),
    ] = "by-position",
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda, …", show_default="a GPU if there is one, else cpu")
    ] = None,
    backend: Annotated[
        Backend | None,
        typer.Option(help="What runs the model", show_default="the fastest in full precision: native or torch"),
    ] = None,
) -> None:
    """Measure trained models: NDCG and HR at 5 and 10 with intervals, order, coverage, categories, time.

    The figures of the two protocols cannot be compared with each other; both say how many lists are behind them.

    Example: `fans evaluate runs/fans runs/popularity --corpus corpora/aotm --json figures.json --html figures.html`
    """
    if html is not None:
        from fansrec.evaluation.report import write_report  # first, so that a missing extra is known before the work
    from fansrec.data.corpus import read_corpus
    from fansrec.evaluation.protocol import protocol as named

    for path in (json, html):
        make_room(path)
    names = ("paper", "standard") if protocol == "both" else (protocol,)
    prepared = read_corpus(corpus)
    how = [named(name, input_, masks) for name in names]
    settings: dict[str, Any] = {"part": part, "fill": fill, "device": usable_device(device), "backend": backend}
    rows, configs = _evaluated(runs, prepared, how, generation, **settings)
    if json is not None:
        write_json(json, rows)
    if html is not None:
        write_report(html, rows, configs, prepared.summary)
    _print(rows, [path for path in (json, html) if path is not None])


def _evaluated(
    runs: list[Path], corpus: "Corpus", how: "list[Protocol]", generation: str | None, **settings: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows, a run and protocol each, and the config of every run."""
    from fansrec.evaluation.rows import evaluate_run, open_run

    for run in runs[1:]:  # all are looked at before the first is asked: a refusal should not cost the work before it
        open_run(run, corpus, generation)
    rows, configs = [], []
    with _bar() as (bar, task):
        for run in runs:
            artifact = open_run(run, corpus, generation)
            configs.append(artifact.config)
            for one in how:
                bar.update(task, description=printable(f"{artifact.folder.name}, {one.name}"), completed=0, total=None)
                rows.append(
                    evaluate_run(artifact, corpus, one, **settings, progress=_advance(bar, task), generation=generation)
                )
    return rows, configs


def _advance(bar: Progress, task: TaskID) -> Any:
    return lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def _bar() -> Iterator[tuple[Progress, TaskID]]:
    """Lists done, on a terminal; a log wants no bar."""
    console = Terminal(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        yield bar, bar.add_task("reading", total=None)


def _print(rows: list[dict[str, Any]], files: list[Path]) -> None:
    from fansrec.evaluation.tables import print_tables

    print_tables(rows, Terminal())
    for row in rows:
        if row["short_answers"]:
            echo(
                f"{row['run']}, {row['protocol']}: {row['short_answers']:,} answers are shorter than asked for, "
                f"as no more items were allowed",
                err=True,
            )
    for path in files:
        echo(f"written: {path}")
