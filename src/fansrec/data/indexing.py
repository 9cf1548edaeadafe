"""From item ids to item indices: with a dictionary for lists in memory, with polars for tables."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from numbers import Integral
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fansrec.data.lists import Lists, RawLists, offsets_of
from fansrec.data.problems import BAD_TIME, EMPTY_LIST, LONG_LIST, NO_ITEM, NOT_ID, NOT_UNICODE, Problems
from fansrec.data.times import measure_times, microseconds
from fansrec.errors import BadInput
from fansrec.vocabulary import ListNames
from fansrec.vocabulary.string_table import StringTable

MAX_TITLE = 1000  # characters of the title of a list that are kept


class Row(NamedTuple):
    """One list as it was read: its line or row, its items; as text its value of the split column, time, id, title."""

    number: int
    items: Sequence[object]
    group: str | None = None
    time: str | None = None
    id: str | None = None
    title: str | None = None


class ItemIds:
    """The item indices of ids, assigned in the order of first occurrence, and whether an id is always an integer."""

    def __init__(self) -> None:
        self.indices: dict[object, int] = {}  # by the id as it was given: 7 and "7" are the same item
        self.texts: dict[str, int] = {}
        self.integers = bytearray()

    def index(self, item: object) -> int | str:
        """Return the index of an id; instead of one that is not valid, the kind of the problem."""
        kind = type(item)
        if (kind is str or kind is int) and item in self.indices:
            return self.indices[item]
        text = id_text(item)
        if text is None:
            return _problem(item)
        index = self.texts.setdefault(text, len(self.texts))
        if index == len(self.integers):
            self.integers.append(not isinstance(item, str))
        elif isinstance(item, str):
            self.integers[index] = False
        if kind is str or kind is int:
            self.indices[item] = index
        return index


def of_valid_length(rows: Iterable[Row], most: int | None, problems: Problems) -> Iterator[Row]:
    """Yield the rows with 1 to `most` items, and note the others; None: yield all rows."""
    for row in rows:
        length = len(row.items)
        if most is None or 1 <= length <= most:
            yield row
        elif length:
            problems.add(LONG_LIST, row.number, too_long(length, most))
        else:
            problems.add(EMPTY_LIST, row.number)


def too_long(length: int, most: int) -> str:
    """Return what is wrong with a list of this length."""
    return f"{length:,} items, at most {most:,}"


def index_rows(rows: Iterable[Row], problems: Problems, grouped: bool = False, timed: bool = False) -> RawLists:
    """Return the rows as lists of item indices; note items that are not valid and leave them out."""
    ids = ItemIds()
    groups: dict[str | None, int] = {}
    items, lengths, group_indices, numbers = array("i"), array("q"), array("q"), array("q")
    times: list[str | None] = []
    names: list[tuple[str | None, str | None]] = []
    for row in rows:
        before = len(items)
        for item in row.items:
            index = ids.index(item)
            if isinstance(index, int):
                items.append(index)
            else:
                problems.add(index, row.number, "" if index == NO_ITEM else ascii(item))
        lengths.append(len(items) - before)
        group_indices.append(groups.setdefault(row.group, len(groups)))
        names.append((row.id, row.title))
        if timed:
            times.append(row.time)
            numbers.append(row.number)
    lists = Lists(np.asarray(items, dtype=np.int32), offsets_of(np.asarray(lengths, dtype=np.int64)))
    integers = np.array(ids.integers, dtype=np.bool_)
    raw = RawLists(lists, list(ids.texts), integers=integers, names=list_names(*zip(*names, strict=True)))
    if grouped:
        raw = replace(raw, groups=np.asarray(group_indices, dtype=np.int64), group_names=list(groups))
    return _with_times(raw, times, numbers, problems) if timed else raw


def _with_times(raw: RawLists, texts: Sequence[str | None], numbers: Sequence[int], problems: Problems) -> RawLists:
    """Return the lists with their times; note lists without one and leave them out."""
    frame = pl.LazyFrame({"time": texts}, schema={"time": pl.String})
    times = frame.select(microseconds("time", pl.String(), measure_times(frame, "time").scale)).collect().to_series()
    known = times.is_not_null().to_numpy()
    for index in np.flatnonzero(~known).tolist():
        problems.add(BAD_TIME, numbers[index], "" if texts[index] is None else repr(texts[index]))
    return replace(raw, times=times.fill_null(0).to_numpy()).keep_lists(known)


def id_text(item: object) -> str | None:
    """Return an item id as text; None for ids such as 7.0 or True, which could not be looked up later."""
    if isinstance(item, bool) or not isinstance(item, str | Integral):
        return None
    text = str(item)
    is_invalid = not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)
    return None if is_invalid or not text else text


def _problem(item: object) -> str:
    if item is None or item == "":
        return NO_ITEM
    return NOT_UNICODE if isinstance(item, str) else NOT_ID


def index_table(table: pl.LazyFrame, where: str, list_time: str | None = None, typed: bool = True) -> RawLists:
    """Return the lists of a table with the columns list, item, row and optionally position, time, group, id and title.

    Each pass streams, so that the ids, which are long, are never all in memory: only the indices are.
    Lists are in the order of their first rows, item indices in the order of the ids. The time of a list is the
    `list_time`, latest or first, of its rows.
    """
    names = table.collect_schema().names()
    ids = table.select("item").unique().collect(engine="streaming")["item"]
    item_indices = pl.DataFrame({"item": ids, "id": ids.cast(pl.String)}).sort("id").with_row_index("index")
    lists = _lists(table, names, where, list_time)
    rows, ties = _indexed_rows(table, item_indices, lists, "position" in names)
    groups, group_names = index_groups(lists["group"]) if "group" in names else (None, [])
    offsets = offsets_of(lists["length"].to_numpy().astype(np.int64))
    return RawLists(
        Lists(rows["index"].to_numpy(), offsets),
        item_indices["id"].to_list(),
        groups,
        group_names,
        sorted_ids=True,
        integers=np.full(len(ids), ids.dtype.is_integer()) if typed else None,
        times=lists["time"].to_numpy() if list_time else None,
        names=list_names(*(lists[name] if name in names else () for name in ("id", "title"))),
        ties=ties,
    )


def _lists(table: pl.LazyFrame, names: Sequence[str], where: str, list_time: str | None) -> pl.DataFrame:
    """Return one row per list: its id, its first and last row, its length, and its group and time if there are any."""
    group, time = pl.col("group").cast(pl.String), pl.col("time")
    grouped = [group.min().alias("group"), group.max().alias("other")] if "group" in names else []
    timed = [time.max() if list_time == "latest" else time.min()] if list_time else []
    named = [pl.col(name).cast(pl.String).min() for name in ("id", "title") if name in names]
    lists = (
        table.with_row_index("at")
        .group_by("list")
        .agg(
            pl.col("at").min().alias("first"),
            pl.col("at").max().alias("last"),
            pl.len().alias("length"),
            *grouped,
            *timed,
            *named,
        )
        .sort("first")
        .with_row_index("list_index")
        .collect(engine="streaming")
    )
    if grouped:
        refuse_mixed_groups(lists, where)
    return lists


def refuse_mixed_groups(lists: pl.DataFrame, where: str) -> None:
    """Raise BadInput if the smallest and the largest value of a list, the columns group and other, differ."""
    mixed = lists.filter(pl.col("group") != pl.col("other"))
    if mixed.height:
        first = mixed.row(0, named=True)
        raise BadInput(
            f"{where}: list {first['list']} has several values in the split column ({first['group']!r}, "
            f"{first['other']!r}); all rows of a list must agree, or choose another column for --split-by"
        )


def _indexed_rows(
    table: pl.LazyFrame, item_indices: pl.DataFrame, lists: pl.DataFrame, has_positions: bool
) -> tuple[pl.DataFrame, int]:
    """Return the item indices list after list, each list in the order of its positions or else of the rows.

    Rows with equal positions stay in the order of the rows; the second value is how many there are.
    """
    items = item_indices.lazy().select("item", pl.col("index").cast(pl.Int32))
    rows = table.join(items, on="item", how="left", maintain_order="left")
    contiguous = lists.select((pl.col("last") - pl.col("first") + 1 == pl.col("length")).all()).item()
    if contiguous and not has_positions:
        return rows.select("index").collect(engine="streaming"), 0
    order = ["list_index", "position"] if has_positions else ["list_index"]
    indexed = rows.join(lists.lazy().select("list", "list_index"), on="list", how="left", maintain_order="left")
    found = indexed.select("index", *order).collect(engine="streaming")
    if not has_positions or not _is_sorted(found):
        found = found.sort(order, maintain_order=True)
    return found, _count_ties(found) if has_positions else 0


def _is_sorted(rows: pl.DataFrame) -> bool:
    """Return whether rows are sorted, as most are: sorting would cost memory."""
    lists, positions = rows["list_index"].to_numpy(), rows["position"].to_numpy()
    later = lists[1:] > lists[:-1]
    later |= (lists[1:] == lists[:-1]) & (positions[1:] >= positions[:-1])
    return bool(later.all())


def _count_ties(rows: pl.DataFrame) -> int:
    """Return how many rows have the list and the position of the row before them."""
    lists, positions = rows["list_index"].to_numpy(), rows["position"].to_numpy()
    return int(np.count_nonzero((lists[1:] == lists[:-1]) & (positions[1:] == positions[:-1])))


def list_names(ids: Iterable[str | None] = (), titles: Iterable[str | None] = ()) -> ListNames | None:
    """Return the names of lists by their ids and titles, which may be empty; None if there is neither."""
    found, named = (StringTable.from_strings(texts) for texts in (ids, (_short(title) for title in titles)))
    if not found.any() and not named.any():
        return None
    return ListNames(found or [None] * len(named), named if named.any() else None)


def _short(title: str | None) -> str | None:
    return None if title is None else title[:MAX_TITLE] or None


def index_groups(values: Iterable[str | None]) -> tuple[NDArray[np.int64], list[str | None]]:
    """Return group indices in the order of first occurrence, and the names; lists without a value form one group."""
    groups: dict[str | None, int] = {}
    return np.array([groups.setdefault(group, len(groups)) for group in values], dtype=np.int64), list(groups)
