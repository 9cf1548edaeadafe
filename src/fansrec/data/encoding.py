"""From ids as the user writes them to item numbers: by dictionary for lists in memory, by polars for tables."""

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
    """One list as it was read: where it stands, for messages; its items; its value of the split column."""

    place: str
    items: Sequence[object]
    group: str | None = None


def encode_rows(rows: Iterable[Row], grouped: bool = False) -> RawLists:
    """Number the items of lists that come one by one, in the order they are first seen."""
    numbers: dict[str, int] = {}
    groups: dict[str | None, int] = {}
    items = array("i")
    lengths = array("q")
    group_numbers = array("q")
    for row in rows:
        for item in row.items:
            if type(item) is int:
                text = str(item)
            else:
                text = item if type(item) is str and item in numbers else id_text(item, row.place)
            items.append(numbers.setdefault(text, len(numbers)))
        lengths.append(len(row.items))
        group_numbers.append(groups.setdefault(row.group, len(groups)))
    lists = Lists(np.asarray(items, dtype=np.int32), offsets_of(np.asarray(lengths, dtype=np.int64)))
    if not grouped:
        return RawLists(lists, list(numbers))
    return RawLists(lists, list(numbers), np.asarray(group_numbers, dtype=np.int64), list(groups))


def id_text(item: object, place: str) -> str:
    """An item id as text; only text and whole numbers are ids, since 7.0 or True would not be found again."""
    if item is None or (isinstance(item, str) and not item):
        raise BadInput(f"{place}: an item is missing (null or empty); remove it or give it an id")
    if isinstance(item, bool) or not isinstance(item, str | Integral):
        raise BadInput(f"{place}: {item!r:.80} is no item id; use text or whole numbers")
    text = str(item)
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise BadInput(f"{place}: the item id {text!a:.80} is no valid text; repair or remove it")
    return text


def encode_table(table: pl.LazyFrame, where: str) -> RawLists:
    """Number the items of a table with the columns list, item, row and perhaps position and group.

    Each pass streams, so that ids, which are long, never lie in memory together: only their numbers do.
    Lists come in the order of their first rows, items in the order of their ids.
    """
    names = table.collect_schema().names()
    ids = table.select("item").unique().collect(engine="streaming")["item"]
    if ids.null_count():
        raise missing_value(table, "item", where)
    item_numbers = pl.DataFrame({"item": ids, "id": ids.cast(pl.String)}).sort("id").with_row_index("number")
    lists = _lists(table, names, where)
    rows = _numbered_rows(table, item_numbers, lists, "position" in names, where)
    groups, group_names = number_groups(lists["group"]) if "group" in names else (None, [])
    offsets = offsets_of(lists["length"].to_numpy().astype(np.int64))
    texts = item_numbers["id"].to_list()
    return RawLists(Lists(rows["number"].to_numpy(), offsets), texts, groups, group_names, ids_rise=True)


def _lists(table: pl.LazyFrame, names: Sequence[str], where: str) -> pl.DataFrame:
    """One row a list: its id, where it begins and ends, its length, and its group if there is one."""
    group = pl.col("group").cast(pl.String)
    grouped = [group.min().alias("group"), group.max().alias("other")] if "group" in names else []
    lists = (
        table.with_row_index("at")
        .group_by("list")
        .agg(pl.col("at").min().alias("first"), pl.col("at").max().alias("last"), pl.len().alias("length"), *grouped)
        .sort("first")
        .with_row_index("list_number")
        .collect(engine="streaming")
    )
    if lists["list"].null_count():
        raise missing_value(table, "list", where)
    if grouped:
        refuse_mixed_groups(lists, where)
    return lists


def refuse_mixed_groups(lists: pl.DataFrame, where: str) -> None:
    """`lists` has the least and the greatest value of every list: group and other."""
    mixed = lists.filter(pl.col("group") != pl.col("other"))
    if mixed.height:
        one = mixed.row(0, named=True)
        raise BadInput(
            f"{where}: list {one['list']} has several values in the split column ({one['group']!r}, {one['other']!r}); "
            "all rows of a list must agree, or choose another column for --split-by"
        )


def _numbered_rows(
    table: pl.LazyFrame, item_numbers: pl.DataFrame, lists: pl.DataFrame, positioned: bool, where: str
) -> pl.DataFrame:
    """The rows as numbers, list after list, each list in the order of its positions or else of the file."""
    items = item_numbers.lazy().select("item", pl.col("number").cast(pl.Int32))
    rows = table.join(items, on="item", how="left", maintain_order="left")
    together = lists.select((pl.col("last") - pl.col("first") + 1 == pl.col("length")).all()).item()
    if together and not positioned:
        return rows.select("number").collect(engine="streaming")
    order = ["list_number", "position"] if positioned else ["list_number"]
    numbered = rows.join(lists.lazy().select("list", "list_number"), on="list", how="left", maintain_order="left")
    found = numbered.select("number", *order).collect(engine="streaming")
    if positioned and found["position"].null_count():
        raise missing_value(table, "position", where)
    if positioned and _rises(found):
        return found
    found = found.sort(order, maintain_order=True)
    if positioned:
        refuse_repeated_positions(found, lists["list"], where)
    return found


def _rises(rows: pl.DataFrame) -> bool:
    """Whether the rows already lie in order, with no position twice, as they mostly do: sorting costs memory."""
    lists, positions = rows["list_number"].to_numpy(), rows["position"].to_numpy()
    later = lists[1:] > lists[:-1]
    later |= (lists[1:] == lists[:-1]) & (positions[1:] > positions[:-1])
    return bool(later.all())


def refuse_repeated_positions(rows: pl.DataFrame, lists: pl.Series, where: str) -> None:
    """`rows` are sorted by list_number and position; `lists` are the ids of the lists."""
    same = (pl.col("list_number") == pl.col("list_number").shift()) & (pl.col("position") == pl.col("position").shift())
    repeated = rows.filter(same)
    if repeated.height:
        number, position = repeated.select("list_number", "position").row(0)
        raise BadInput(
            f"{where}: list {lists[number]} has position {position} twice; give every item of a list its own position"
        )


def missing_value(table: pl.LazyFrame, column: str, where: str) -> BadInput:
    row = table.filter(pl.col(column).is_null()).select("row").head(1).collect().item()
    what = {"item": "an item is", "list": "a list id is", "position": "a position is no whole number, or"}[column]
    return BadInput(f"{where}: row {row + 1}: {what} missing (null or empty); remove the row or fill it in")


def number_groups(values: Iterable[str | None]) -> tuple[NDArray[np.int64], list[str | None]]:
    """Groups numbered in the order they are first seen, and their names; lists without a value are one group."""
    groups: dict[str | None, int] = {}
    return np.array([groups.setdefault(group, len(groups)) for group in values], dtype=np.int64), list(groups)
