"""The blocks of a report, before they become Markdown or HTML."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from fansrec.evaluation.page import Picture

BEST, SECOND = "best", "second"
NOTHING = "–"


@dataclass(frozen=True)
class Entry:
    """A table cell: a figure, notes below it, and how it is marked."""

    text: str
    notes: tuple[str, ...] = ()
    mark: str = ""  # BEST, SECOND or none
    slow: bool = False  # above the paper's limit of 50 ms
    suffix: str = ""  # follows the figure, never in bold


@dataclass(frozen=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    text: str
    strong: bool = False


@dataclass(frozen=True)
class Table:
    head: Sequence[str]
    rows: Sequence[Sequence[Entry]]  # the first entry is the row's title
    is_text: bool = False  # text instead of figures


@dataclass(frozen=True)
class Plot:
    name: str  # of the image file beside a Markdown report
    picture: Picture


Block = Heading | Paragraph | Table | Plot


def text_entries(*texts: str) -> list[Entry]:
    return [Entry(text) for text in texts]


def mark_best(entries: Sequence[Entry], values: Iterable[float | None], highest: bool = True) -> list[Entry]:
    """Return the entries with the best and the second best value marked; equal values share a mark, as in the paper."""
    known = list(values)
    distinct = sorted({round(value, 4) for value in known if value is not None}, reverse=highest)
    marks = dict(zip(distinct, (BEST, SECOND), strict=False))
    return [
        entry if value is None else replace(entry, mark=marks.get(round(value, 4), ""))
        for entry, value in zip(entries, known, strict=True)
    ]
