"""What orders the items of lists in a small table, chosen as by `fans prepare`: positions, else times, else rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fansrec.data.columns import POSITION_NAMES, TIME_NAMES, find_all, likely
from fansrec.data.problems import BAD_POSITION, BAD_TIME
from fansrec.data.time_texts import number_of, sortable_times

Keys = list[float | None]
Candidate = tuple[str, str, str, Callable[[Sequence[str]], Keys]]  # column, what it is, kind of problem, reading
UNUSED = "column {!r} was not used for the order: most of its values are {}"
NEITHER = {BAD_POSITION: "not whole numbers", BAD_TIME: "neither numbers nor ISO 8601 text"}


@dataclass(frozen=True)
class Order:
    """The column that orders the items, if any, and its value for every row; None where it has none."""

    description: str
    column: str | None
    kind: str  # of the problem of a row without a value
    keys: Keys
    notes: tuple[str, ...]


def order_of(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Order:
    """Choose the first column with a known name and fitting values in at least half of the rows.

    If no such column fits, but one has values, that one is chosen: rows in the wrong order would not be noticed.
    """
    notes: list[str] = []
    unfit: list[Order] = []
    for name, what, kind, read in _candidates(names):
        texts = [row[names.index(name)] for row in rows]
        keys = read(texts)
        order = Order(f"ordered by {what} {name!r}, equal {what}s by row", name, kind, keys, tuple(notes))
        known = sum(key is not None for key in keys)
        if known and 2 * known >= len(rows):
            return order
        notes.append(UNUSED.format(name, NEITHER[kind] if any(texts) else "missing"))
        unfit += [order] if any(texts) else []
    if unfit:
        return unfit[0]
    known_names = {*find_all(names, POSITION_NAMES), *find_all(names, TIME_NAMES)}
    hints = [f"column {name!r} may hold times; to order by it, rename it to 'time'" for name in likely(names, "time")]
    hints = hints if not known_names else []
    return Order("in the order of the rows", None, "", [0.0] * len(rows), (*notes, *hints))


def _candidates(names: Sequence[str]) -> list[Candidate]:
    positions: list[Candidate] = [
        (name, "position", BAD_POSITION, _positions) for name in find_all(names, POSITION_NAMES)
    ]
    return positions + [(name, "time", BAD_TIME, sortable_times) for name in find_all(names, TIME_NAMES)]


def _positions(texts: Sequence[str]) -> Keys:
    numbers = map(number_of, texts)
    return [number if number is not None and number.is_integer() else None for number in numbers]
