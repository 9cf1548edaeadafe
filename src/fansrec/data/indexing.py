"""From item ids to item indices: with a dictionary for lists in memory, with polars for tables."""

from array import array
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fansrec.data.lists import Lists, RawLists, offsets_of
from fansrec.errors import BadInput


class Row(NamedTuple):
    """One list as it was read: its location for messages, its items, and its value of the split column."""

    location: str
    items: Sequence[object]
    group: str | None = None


def index_rows(rows: Iterable[Row], grouped: bool = False) -> RawLists:
    """Return the rows as lists of item indices, assigned in the order of first occurrence."""
    indices: dict[str, int] = {}
    groups: dict[str | None, int] = {}
    items = array("i")
    lengths = array("q")
    group_indices = array("q")
    for row in rows:
        for item in row.items:
            if type(item) is int:
                text = str(item)
            else:
                text = item if type(item) is str and item in indices else id_text(item, row.location)
            items.append(indices.setdefault(text, len(indices)))
        lengths.append(len(row.items))
        group_indices.append(groups.setdefault(row.group, len(groups)))
    lists = Lists(np.asarray(items, dtype=np.int32), offsets_of(np.asarray(lengths, dtype=np.int64)))
    if not grouped:
        return RawLists(lists, list(indices))
    return RawLists(lists, list(indices), np.asarray(group_indices, dtype=np.int64), list(groups))


def id_text(item: object, location: str) -> str:
    """Return an item id as text; refuse ids such as 7.0 or True, which could not be looked up later."""
    if item is None or (isinstance(item, str) and not item):
        raise BadInput(f"{location}: an item is missing (null or empty); remove it or give it an id")
    if isinstance(item, bool) or not isinstance(item, str | Integral):
        raise BadInput(f"{location}: {item!r:.80} is not an item id; use text or whole numbers")
    text = str(item)
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise BadInput(f"{location}: the item id {text!a:.80} is not valid Unicode; correct or remove it")
    return text


def index_table(table: pl.LazyFrame, where: str) -> RawLists:
    """Return the lists of a table with the columns list, item, row and optionally position and group.

    Each pass streams, so that the ids, which are long, are never all in memory: only the indices are.
    Lists are in the order of their first rows, item indices in the order of the ids.
    """
    names = table.collect_schema().names()
    ids = table.select("item").unique().collect(engine="streaming")["item"]
    if ids.null_count():
        raise missing_value(table, "item", where)
    item_indices = pl.DataFrame({"item": ids, "id": ids.cast(pl.String)}).sort("id").with_row_index("index")
    lists = _lists(table, names, where)
    rows = _indexed_rows(table, item_indices, lists, "position" in names, where)
    groups, group_names = index_groups(lists["group"]) if "group" in names else (None, [])
    offsets = offsets_of(lists["length"].to_numpy().astype(np.int64))
    texts = item_indices["id"].to_list()
    return RawLists(Lists(rows["index"].to_numpy(), offsets), texts, groups, group_names, sorted_ids=True)


def _lists(table: pl.LazyFrame, names: Sequence[str], where: str) -> pl.DataFrame:
    """Return one row per list: its id, its first and last row, its length, and its group if there is one."""
    group = pl.col("group").cast(pl.String)
    grouped = [group.min().alias("group"), group.max().alias("other")] if "group" in names else []
    lists = (
        table.with_row_index("at")
        .group_by("list")
        .agg(pl.col("at").min().alias("first"), pl.col("at").max().alias("last"), pl.len().alias("length"), *grouped)
        .sort("first")
        .with_row_index("list_index")
        .collect(engine="streaming")
    )
    if lists["list"].null_count():
        raise missing_value(table, "list", where)
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
    table: pl.LazyFrame, item_indices: pl.DataFrame, lists: pl.DataFrame, has_positions: bool, where: str
) -> pl.DataFrame:
    """Return the item indices list after list, each list in the order of its positions or else of the file."""
    items = item_indices.lazy().select("item", pl.col("index").cast(pl.Int32))
    rows = table.join(items, on="item", how="left", maintain_order="left")
    contiguous = lists.select((pl.col("last") - pl.col("first") + 1 == pl.col("length")).all()).item()
    if contiguous and not has_positions:
        return rows.select("index").collect(engine="streaming")
    order = ["list_index", "position"] if has_positions else ["list_index"]
    indexed = rows.join(lists.lazy().select("list", "list_index"), on="list", how="left", maintain_order="left")
    found = indexed.select("index", *order).collect(engine="streaming")
    if has_positions and found["position"].null_count():
        raise missing_value(table, "position", where)
    if has_positions and _is_sorted(found):
        return found
    found = found.sort(order, maintain_order=True)
    if has_positions:
        refuse_repeated_positions(found, lists["list"], where)
    return found


def _is_sorted(rows: pl.DataFrame) -> bool:
    """Return whether rows are sorted without repeated positions, as most are: sorting would cost memory."""
    lists, positions = rows["list_index"].to_numpy(), rows["position"].to_numpy()
    later = lists[1:] > lists[:-1]
    later |= (lists[1:] == lists[:-1]) & (positions[1:] > positions[:-1])
    return bool(later.all())


def refuse_repeated_positions(rows: pl.DataFrame, lists: pl.Series, where: str) -> None:
    """Raise BadInput if a position occurs twice; `rows` are sorted by list_index and position, `lists` are the ids."""
    same = (pl.col("list_index") == pl.col("list_index").shift()) & (pl.col("position") == pl.col("position").shift())
    repeated = rows.filter(same)
    if repeated.height:
        index, position = repeated.select("list_index", "position").row(0)
        raise BadInput(
            f"{where}: list {lists[index]} has position {position} twice; give every item of a list its own position"
        )


def missing_value(table: pl.LazyFrame, column: str, where: str) -> BadInput:
    """Return the error for the first row in which the column is null."""
    row = table.filter(pl.col(column).is_null()).select("row").head(1).collect().item()
    what = {"item": "an item is", "list": "a list id is", "position": "a position is not a whole number, or"}[column]
    return BadInput(f"{where}: row {row + 1}: {what} missing (null or empty); remove the row or fill it in")


def index_groups(values: Iterable[str | None]) -> tuple[NDArray[np.int64], list[str | None]]:
    """Return group indices in the order of first occurrence, and the names; lists without a value form one group."""
    groups: dict[str | None, int] = {}
    return np.array([groups.setdefault(group, len(groups)) for group in values], dtype=np.int64), list(groups)
