"""All printing of the command line: text from data or models is escaped (`fansrec.printable`)."""

from collections.abc import Iterable
from typing import Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from fansrec.printable import printable, printable_json


def echo(*lines: object, err: bool = False) -> None:
    """Print each of `lines` as exactly one line."""
    typer.echo("\n".join(map(printable, lines)), err=err)


def echo_row(*columns: object) -> None:
    """Print `columns` as one line with tabs between them."""
    typer.echo("\t".join(map(printable, columns)))


def echo_json(value: Any) -> None:
    """Print `value` as one line of JSON."""
    typer.echo(printable_json(value))


class Terminal(Console):
    """A rich console that escapes the text it renders and interprets no markup or emoji codes in it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def say(self, text: object) -> None:
        """Print `text` as exactly one line, also on a narrow terminal."""
        self.print(printable(text), soft_wrap=True)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Escape the text of a table, a progress bar or a message; line breaks belong to the layout."""
        for segment in super().render(renderable, options):
            text = "\n".join(map(printable, segment.text.split("\n")))
            yield segment if segment.control else Segment(text, segment.style)
