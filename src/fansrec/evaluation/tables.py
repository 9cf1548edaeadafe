"""Rows of figures as tables on the terminal, one line a run and protocol."""

from collections.abc import Callable, Mapping, Sequence

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from fansrec.evaluation.rows import Row
from fansrec.evaluation.wording import Cell, accuracy, beside, manner
from fansrec.printable import printable

Cells = Callable[[Row], Mapping[str, Cell]]


def print_tables(rows: Sequence[Row], console: Console) -> None:
    """Accuracy, then the figures beside it; where a terminal is too narrow for a line, intervals go below figures."""
    for cells in (accuracy, beside):
        table = _table(rows, cells, " ")
        needed = Measurement.get(console, console.options.update(max_width=10_000), table).maximum
        if not console.is_terminal:  # a file takes lines of any length
            Console(file=console.file, width=needed).print(table)
        else:
            console.print(table if needed <= console.width else _table(rows, cells, "\n"))
        console.print()


def _table(rows: Sequence[Row], cells: Cells, between: str) -> Table:
    """`between` stands between a figure and its note; if it ends the line, so do the names of a row."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("run", "variant", "protocol") if between == " " else ("run",):
        table.add_column(heading, overflow="fold")
    for heading in cells(rows[0]):
        table.add_column(heading, justify="right")
    for row in rows:
        names = list(map(printable, (row["run"], row["variant"], manner(row))))
        figures = [between.join(filter(None, cell)) for cell in cells(row).values()]
        # As Text: a folder called "[a]" is a name, no markup. Escaped one by one, since a table breaks lines itself.
        table.add_row(*map(Text, names if between == " " else [between.join(names)]), *map(Text, figures))
    return table
