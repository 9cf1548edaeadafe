"""Rows of figures as tables on the terminal, one line a run and protocol."""

from collections.abc import Callable, Mapping, Sequence

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from fansrec.evaluation.rows import Row
from fansrec.evaluation.wording import Cell, accuracy, beside, manner

Cells = Callable[[Row], Mapping[str, Cell]]


def print_tables(rows: Sequence[Row], console: Console) -> None:
    """Accuracy, then the figures beside it; where a terminal is too narrow for a line, intervals go below figures."""
    for cells in (accuracy, beside):
        table = _table(rows, cells, " ")
        needed = Measurement.get(console, console.options.update(max_width=10_000), table).maximum
        if not console.is_terminal:
            console.width = needed  # a file takes lines of any length
        elif needed > console.width:
            table = _table(rows, cells, "\n")
        console.print(table)
        console.print()


def _table(rows: Sequence[Row], cells: Cells, between: str) -> Table:
    """`between` stands between a figure and its note."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("run", overflow="fold")
    for heading in cells(rows[0]):
        table.add_column(heading, justify="right")
    for row in rows:
        # As Text: a folder called "[a]" is a name, no markup.
        figures = [Text(between.join(filter(None, cell))) for cell in cells(row).values()]
        table.add_row(Text(between.join([row["run"], row["variant"], manner(row)])), *figures)
    return table
