"""Changes from files, dataframes and Python lists, read as `fans prepare` reads them. Only this part needs polars."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from fansrec.data.item_details import read_details
from fansrec.data.list_ids import read_list_ids
from fansrec.data.reading import Reading
from fansrec.data.sources import Report, read_lists
from fansrec.updating.changes import MAX_LIST_ITEMS, Change, RemoveList, SetItem, SetList


def read_changes(lists: Any, items: Any, remove: Any, reading: Reading, report: Report) -> list[Change]:
    """Return the changes of three sources, of which any may be None: new lists, described items, lists to remove.

    A list that is both new and to be removed is removed.
    """
    described = [] if items is None else [*_described(items, reading, report)]
    new = [] if lists is None else [*_new_lists(lists, reading, report)]
    removed = [] if remove is None else [RemoveList(id_) for id_ in read_list_ids(remove, reading, report)]
    return [*described, *new, *removed]


def _new_lists(source: Any, reading: Reading, report: Report) -> Iterator[SetList]:
    raw = read_lists(source, replace(reading, repeated_ids=True, most_items=MAX_LIST_ITEMS), report)
    ids, indices, names = [*raw.ids], raw.lists.items.tolist(), raw.names
    starts = raw.lists.offsets.tolist()
    for number in range(len(raw.lists)):
        if starts[number] == starts[number + 1]:  # none of its items could be used, which was reported
            continue
        items = tuple([ids[index] for index in indices[starts[number] : starts[number + 1]]])
        yield SetList(*((None, items) if names is None else (names.id(number), items, names.title(number))))


def _described(source: Any, reading: Reading, report: Report) -> Iterator[SetItem]:
    found = read_details(source, None, reading, report)
    for id_ in found.ids:
        name, group, category, date = (
            details.get(id_) for details in (found.names, found.groups, found.categories, found.dates)
        )
        yield SetItem(id_, name, group, category, date)
