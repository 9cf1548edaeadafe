"""Tables of rows on the terminal, one line per run and protocol."""

from collections.abc import Callable, Mapping, Sequence

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from fansrec.evaluation.formatting import Cell, Row, accuracy_cells, diversity_cells, protocol_label
from fansrec.printable import printable

Cells = Callable[[Row], Mapping[str, Cell]]


def print_tables(rows: Sequence[Row], console: Console) -> None:
    """Print accuracy, then order and diversity; on a terminal that is too narrow, intervals go below the values."""
    for cells in (accuracy_cells, diversity_cells):
        table = _table(rows, cells, " ")
        width = Measurement.get(console, console.options.update(max_width=10_000), table).maximum
        if not console.is_terminal:  # a file takes lines of any length
            Console(file=console.file, width=width).print(table)
        else:
            console.print(table if width <= console.width else _table(rows, cells, "\n"))
        console.print()


def _table(rows: Sequence[Row], cells: Cells, separator: str) -> Table:
    """Return a table with `separator` between a value and its note, and between the names of a row if it is "\\n"."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("run", "variant", "protocol") if separator == " " else ("run",):
        table.add_column(heading, overflow="fold")
    for heading in cells(rows[0]):
        table.add_column(heading, justify="right")
    for row in rows:
        names = list(map(printable, (row["run"], row["variant"], protocol_label(row))))
        values = [separator.join(filter(None, cell)) for cell in cells(row).values()]
        # As Text: a folder called "[a]" is a name, not markup. Escaped one by one, since a table breaks lines itself.
        table.add_row(*map(Text, names if separator == " " else [separator.join(names)]), *map(Text, values))
    return table
