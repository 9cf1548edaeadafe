"""What `fans evaluate` prints: tables with one line per run and protocol, the comparison, groups of lists, examples."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from fansrec.evaluation.formatting import (
    Cell,
    Row,
    accuracy_cells,
    breakdown_lines,
    by_protocol,
    comparison_cells,
    curves,
    difference_cell,
    diversity_cells,
    given_cells,
    more_cells,
    protocol_label,
)
from fansrec.printable import printable

Line = tuple[Row, Mapping[str, Cell]]  # the row that names a run and a protocol, and the cells after the names

GIVEN_ITEMS, ANSWERED_ITEMS = 3, 5  # of an example


def print_tables(rows: Sequence[Row], console: Console) -> None:
    """Print accuracy, order and diversity of rows that are not compared.

    On a terminal that is too narrow, intervals go below the values.
    """
    _print([(row, accuracy_cells(row)) for row in rows], console)
    _print([(row, diversity_cells(row)) for row in rows], console)


def print_evaluation(rows: Sequence[Row], console: Console) -> None:
    """Print what `evaluate` returned: the comparison first, then groups of lists, the other metrics and examples."""
    protocols = by_protocol(rows)
    usual = [row for own in protocols.values() for row in own]
    _print([(row, comparison_cells(row)) for row in usual], console)
    if usual[0]["compared"]:
        for label, own in protocols.items():
            _say(f"{label}: {own[0]['verdict']}", console)
            _print_differences(own, console)
    first = next(iter(protocols.values()))
    _print_breakdown(first, console)
    position = max(usual[0]["at"])  # the report has all of them, with intervals
    _print([(row, {name: (cell[0], "") for name, cell in more_cells(row, position).items()}) for row in usual], console)
    _print([(row, diversity_cells(row)) for row in usual], console)
    if short := curves(rows):
        console.print("NDCG@5 by the number of given items")
        _print([(curve[-1], given_cells(curve)) for curve in short], console)
    if first[0]["examples"]:
        _say("Examples; * marks items that are in both", console)
    for example in first[0]["examples"]:
        _print_example(example, first[0], console)


def _print_differences(rows: Sequence[Row], console: Console) -> None:
    """Print by how much each run differs from the first one, which is the best, in the metric of comparison."""
    table = empty_table("run", f"{rows[0]['by']} - best", "95% interval", justify="left")
    for row in rows[1:]:
        table.add_row(*(Text(printable(text)) for text in (row["run"], *difference_cell(row, row["by"]))))
    print_wide(table, console)
    console.print()


def _print_breakdown(rows: Sequence[Row], console: Console) -> None:
    """Print the metric of comparison by groups of lists, a column for each run."""
    _say(f"{rows[0]['by']} by groups of lists, {protocol_label(rows[0])}", console)
    table = empty_table("lists with", "", justify="left")
    for heading in ("lists", *(row["run"] for row in rows)):
        table.add_column(Text(printable(heading)), justify="right", overflow="fold")
    previous = None
    for by, group, lists, cells in breakdown_lines(rows):
        table.add_row("" if by == previous else by, group, f"{lists:,}", *(value for value, _ in cells))
        previous = by
    print_wide(table, console)
    console.print()


def _print_example(example: Mapping[str, Any], row: Row, console: Console) -> None:
    """Print the first answered items beside the real continuation, hits marked with *."""
    given, target = example["input"], example["target"]
    before = "… " if len(given) > GIVEN_ITEMS else ""
    _say(f"{before}{', '.join(given[-GIVEN_ITEMS:])}  ({row['part']} list {example['list']})", console)
    answer = zip(example["hits"], example["answer"], strict=True)
    real = zip(example["found"], target, strict=True)
    columns = [[f"{'*' if hit else ' '} {name}" for hit, name in pairs][:ANSWERED_ITEMS] for pairs in (answer, real)]
    columns[1] += [f"  … {len(target) - ANSWERED_ITEMS} more"] * (len(target) > ANSWERED_ITEMS)
    table = empty_table(f"  {row['run']}, first {len(columns[0])}", "  real continuation", justify="left")
    for pair in zip_longest(*columns, fillvalue=""):
        table.add_row(*(Text(printable(text)) for text in pair))
    print_wide(table, console)
    console.print()


def _print(lines: Sequence[Line], console: Console) -> None:
    table = _table(lines, " ")
    if console.is_terminal and _width(table, console) > console.width:
        table = _table(lines, "\n")
    print_wide(table, console)
    console.print()


def print_wide(table: Table, console: Console) -> None:
    """Print a table; where the output is not a terminal, in lines as long as it needs."""
    if console.is_terminal:
        console.print(table)
    else:  # a file takes lines of any length
        Console(file=console.file, width=_width(table, console)).print(table)


def _width(table: Table, console: Console) -> int:
    return Measurement.get(console, console.options.update(max_width=10_000), table).maximum


def _say(text: str, console: Console) -> None:
    console.print(Text(printable(text)), soft_wrap=True)


def empty_table(*headings: str, justify: Any) -> Table:
    """Return a table without lines between its columns."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        table.add_column(Text(printable(heading)), justify=justify, overflow="fold")
    return table


def _table(lines: Sequence[Line], separator: str) -> Table:
    """Return a table with `separator` between a value and its note, and between the names of a row if it is "\\n"."""
    table = empty_table(*(("run", "variant", "protocol") if separator == " " else ("run",)), justify="left")
    for heading in lines[0][1]:
        table.add_column(heading, justify="right")
    for row, cells in lines:
        names = list(map(printable, (row["run"], row["variant"], protocol_label(row))))
        values = [separator.join(filter(None, cell)) for cell in cells.values()]
        # As Text: a folder called "[a]" is a name, not markup. Escaped one by one, since a table breaks lines itself.
        table.add_row(*map(Text, names if separator == " " else [separator.join(names)]), *map(Text, values))
    return table
