"""The items file: the name, the group (an artist, an author) and the user's own category of each item."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from fansrec.data.columns import ITEM_NAMES, find
from fansrec.data.decompression import decompressed
from fansrec.data.tables import format_of, from_dataframe, is_dataframe, json_rows, readable, scan
from fansrec.errors import BadInput
from fansrec.vocabulary import GROUP, is_group_name

ID_NAMES = ("item", "id", *ITEM_NAMES)
DETAIL_NAMES = {
    "name": ("name", "title", "item_name", "track_name", "song_name"),
    "group": ("group", "artist", "author", "artist_name", "author_name", "brand"),
    "category": ("category", "genre"),
}


@dataclass(frozen=True)
class ItemDetails:
    """Details by item id; an item without a detail has no entry."""

    names: dict[str, str] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    categories: dict[str, str] = field(default_factory=dict)
    group_name: str = GROUP
    """The word for groups: the name of their column."""


def group_word(column: str | None) -> str:
    """Return the word for groups that the name of their column contains: artist for `Artist_Name`."""
    word = (column or GROUP).strip().lower().removesuffix("name").strip("_ ")
    return word if is_group_name(word) else GROUP


def read_details(source: Any, ids: Collection[str], group_name: str | None = None) -> ItemDetails:
    """Return the details of the items `ids` from a csv, tsv, parquet or jsonl file, or from a dataframe."""
    where = "the items dataframe" if is_dataframe(source) else str(source)
    if is_dataframe(source):
        with readable(where):
            rows, group = _rows(from_dataframe(source), where)
    else:
        with decompressed(Path(source)) as file, readable(where):
            kind = format_of(file, where)
            rows, group = _rows(_json_table(file.path, where) if kind == "jsonl" else scan(file, kind, where), where)
    return replace(_details(rows, set(ids), where), group_name=group_name or group_word(group))


def _json_table(path: Path, where: str) -> pl.LazyFrame:
    rows = [row for _, row in json_rows(path, where)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    texts = [{name: str(value) for name, value in row.items() if value is not None} for row in rows]
    return pl.LazyFrame({name: [row.get(name) for row in texts] for name in names})


def _rows(table: pl.LazyFrame, where: str) -> tuple[pl.DataFrame, str | None]:
    """Return the columns id, name, group and category as text, null where the file has no such column.

    Return also the name that the column of groups has in the file.
    """
    names = table.collect_schema().names()
    id_name = find(names, ID_NAMES)
    if id_name is None:
        raise BadInput(
            f"{where}: there is no column item or id (columns: {', '.join(names[:12])}); rename the column of item ids"
        )
    selected = [pl.col(id_name).cast(pl.String).alias("id")]
    columns = {
        detail: find([name for name in names if name != id_name], known) for detail, known in DETAIL_NAMES.items()
    }
    for detail, name in columns.items():
        selected.append((pl.lit(None) if name is None else pl.col(name)).cast(pl.String).alias(detail))
    return table.select(selected).collect(engine="streaming"), columns["group"]


def _details(rows: pl.DataFrame, ids: set[str], where: str) -> ItemDetails:
    details = ItemDetails()
    seen: set[str] = set()
    for id_, name, group, category in rows.iter_rows():
        if id_ not in ids:
            continue
        if id_ in seen:
            raise BadInput(f"{where}: item {id_} occurs twice; keep one row for each item")
        seen.add(id_)
        for values, value in ((details.names, name), (details.groups, group), (details.categories, category)):
            if value:
                values[id_] = value
    if not seen:
        raise BadInput(f"{where} contains none of the items in the lists; check that both use the same ids")
    return details
