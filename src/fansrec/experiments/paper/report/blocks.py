"""What a report is made of, before it is Markdown or HTML."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from fansrec.evaluation.page import Picture

BEST, SECOND = "best", "second"
NOTHING = "–"


@dataclass(frozen=True)
class Entry:
    """A figure, what stands below it, and how it is set."""

    text: str
    notes: tuple[str, ...] = ()
    mark: str = ""  # best, second or nothing
    slow: bool = False  # over the paper's 50 ms
    tail: str = ""  # after the figure, never set bold


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
    rows: Sequence[Sequence[Entry]]  # the first of a row names it
    words: bool = False  # texts instead of figures


@dataclass(frozen=True)
class Drawing:
    name: str  # of the file beside a Markdown report
    picture: Picture


Block = Heading | Paragraph | Table | Drawing


def text(*words: str) -> list[Entry]:
    return [Entry(word) for word in words]


def ranked(entries: Sequence[Entry], values: Iterable[float | None], highest: bool = True) -> list[Entry]:
    """The best and the second best marked; equal ones alike, as the paper does."""
    given = list(values)
    distinct = sorted({round(value, 4) for value in given if value is not None}, reverse=highest)
    marks = dict(zip(distinct, (BEST, SECOND), strict=False))
    return [
        entry if value is None else replace(entry, mark=marks.get(round(value, 4), ""))
        for entry, value in zip(entries, given, strict=True)
    ]
