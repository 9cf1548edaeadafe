"""Tables of rows on the terminal, one line per run and protocol."""

from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from fansrec.evaluation.formatting import (
    Cell,
    Row,
    accuracy_cells,
    curves,
    diversity_cells,
    given_cells,
    protocol_label,
)
from fansrec.printable import printable

Line = tuple[Row, Mapping[str, Cell]]  # the row that names a run and a protocol, and the cells after the names


def print_tables(rows: Sequence[Row], console: Console) -> None:
    """Print accuracy, order and diversity, then NDCG@5 of short inputs, if there are any.

    On a terminal that is too narrow, intervals go below the values.
    """
    usual = [row for row in rows if row["given"] is None]
    _print([(row, accuracy_cells(row)) for row in usual], console)
    _print([(row, diversity_cells(row)) for row in usual], console)
    if short := curves(rows):
        console.print("NDCG@5 by the number of given items")
        _print([(curve[-1], given_cells(curve)) for curve in short], console)


def _print(lines: Sequence[Line], console: Console) -> None:
    table = _table(lines, " ")
    width = Measurement.get(console, console.options.update(max_width=10_000), table).maximum
    if not console.is_terminal:  # a file takes lines of any length
        Console(file=console.file, width=width).print(table)
    else:
        console.print(table if width <= console.width else _table(lines, "\n"))
    console.print()


def _table(lines: Sequence[Line], separator: str) -> Table:
    """Return a table with `separator` between a value and its note, and between the names of a row if it is "\\n"."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("run", "variant", "protocol") if separator == " " else ("run",):
        table.add_column(heading, overflow="fold")
    for heading in lines[0][1]:
        table.add_column(heading, justify="right")
    for row, cells in lines:
        names = list(map(printable, (row["run"], row["variant"], protocol_label(row))))
        values = [separator.join(filter(None, cell)) for cell in cells.values()]
        # As Text: a folder called "[a]" is a name, not markup. Escaped one by one, since a table breaks lines itself.
        table.add_row(*map(Text, names if separator == " " else [separator.join(names)]), *map(Text, values))
    return table
