"""Measured rows as tables on the terminal."""

from collections.abc import Callable, Sequence
from typing import Any

from rich import box
from rich.table import Table

from fansrec.cli.terminal import Terminal

Row = dict[str, Any]
Columns = dict[str, Callable[[Row], str]]


def _format(name: str, spec: str = "") -> Callable[[Row], str]:
    return lambda row: "" if row[name] is None else format(row[name], spec)


def _system(row: Row) -> str:
    """Return the arm and the model, the recipe if it is not the paper's, and the folder of a trained model."""
    run = f" ({row['run']})" if row.get("run") else ""
    return f"{row['arm']} {row['model']}" + (" best" if row["variant"] == "best" else "") + run


def _p50(row: Row) -> str:
    return f"{_short(row['p50_ms'])} ({_short(row['p50_low_ms'])}-{_short(row['p50_high_ms'])})"


def _short(value: float) -> str:
    return f"{value:.{0 if value >= 10 else 1 if value >= 3 else 2 if value >= 0.3 else 3}f}"


SYSTEM: Columns = {"system": _system, "backend": _format("backend"), "N": _format("categories")}
MEMORY: Columns = {"peak MB": _format("peak_mb", ",.0f"), "work MB": _format("working_mb", ",.0f")}
LATENCY: Columns = {
    **SYSTEM,
    "p50 ms (repeats)": _p50,
    "p99": lambda row: _short(row["p99_ms"]),
    "lists/s": _format("lists_per_s", ",.0f"),
    "lists": _format("lists"),
    **MEMORY,
    "x authors": _format("times_authors", ".1f"),
    "x bert4rec": _format("times_bert4rec", ".1f"),
}
THROUGHPUT: Columns = {
    "batch": _format("batch"),
    **SYSTEM,
    "lists/s": _format("lists_per_s", ",.0f"),
    "p50 ms": lambda row: _short(row["p50_ms"]),
    "p99": lambda row: _short(row["p99_ms"]),
    "x padded": _format("times_padded", ".2f"),
    "lists": _format("lists"),
    **MEMORY,
}
SWEEP: Columns = {
    "varies": _format("varies"),
    "items": _format("items", ","),
    "k": _format("k", ".0f"),
    "batch": _format("batch"),
    **SYSTEM,
    "p50 ms (repeats)": _p50,
}
TRAINING: Columns = {
    "workload": _format("workload"),
    "classifier": _format("classifier"),
    "items": _format("items", ","),
    "batch": _format("batch"),
    "step s": _format("step_s", ".3f"),
    "epoch s": _format("epoch_s", ".2f"),
    "lists/s": _format("lists_per_s", ",.0f"),
    "peak GB": _format("peak_gb", ".2f"),
}
MIN_WIDTH = 120
LEFT_ALIGNED = ("system", "backend", "workload", "classifier", "varies")


def format_agreement(rows: Sequence[Row]) -> str:
    """Return the smallest share of items that equal those of the reference with the same weights."""
    compared = [row for row in rows if row["same_items"] is not None]
    if not compared:
        return "No two systems with the same weights were measured."
    least = min(compared, key=lambda row: row["same_or_tied_items"])
    return (
        f"Items that equal those of the reference with the same weights, or tie with them: "
        f"{least['same_or_tied_items']:.2%} or more (least: {_system(least)}, {least['same_items_of']:,} compared)."
    )


def print_rows(rows: Sequence[Row], columns: Columns, title: str | None = None) -> None:
    """Print a table; columns that no row has a value for are left out."""
    columns = {name: text for name, text in columns.items() if any(map(text, rows))}
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title=title, title_justify="left")
    for name in columns:
        table.add_column(name, justify="left" if name in LEFT_ALIGNED else "right", no_wrap=True)
    for row in rows:
        table.add_row(*[text(row) for text in columns.values()])
    console = Terminal(width=max(MIN_WIDTH, Terminal().width))
    console.print(table)
    if rows and "same_items" in rows[0]:
        console.print(format_agreement(rows))
