"""Which lists a model holds after changes: lists that are set, removed, or among the oldest that are not kept."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fansrec.updating.changes import Change, RemoveList, SetList
from fansrec.updating.memory import Memory
from fansrec.vocabulary import ListNames


@dataclass
class ListChanges:
    """What changes do to the lists of a model: which of them are kept, and the lists that follow them."""

    kept: NDArray[np.bool_]  # (lists,)
    new: list[SetList]
    added: int = 0
    replaced: int = 0
    removed: int = 0
    dropped: int = 0  # the oldest, by keep_newest
    unknown: list[str] = field(default_factory=list)  # ids that could not be removed

    @property
    def any(self) -> bool:
        return bool(self.new) or not bool(self.kept.all())


def list_changes(names: ListNames, changes: Sequence[Change], keep_newest: int | None) -> ListChanges:
    """Return what `changes` do, one after the other, to the lists with these names."""
    there = _found(names, {one.id for one in changes if isinstance(one, SetList | RemoveList) and one.id is not None})
    plan = ListChanges(np.ones(len(names), dtype=np.bool_), [])
    new: dict[object, SetList] = {}
    was_there = frozenset(there)
    for change in changes:
        if isinstance(change, SetList):
            key: object = object() if change.id is None else change.id
            _leave(plan, there, new, key)
            new[key] = change
        elif isinstance(change, RemoveList) and not _leave(plan, there, new, change.id):
            plan.unknown.append(change.id)
    plan.new = [*new.values()]
    plan.replaced = len(was_there.intersection(new))
    plan.removed = len(was_there) - plan.replaced  # each of them was set or removed
    plan.added = len(new) - plan.replaced
    if keep_newest is not None:
        _keep_newest(plan, keep_newest)
    return plan


def _found(names: ListNames, ids: set[str]) -> dict[object, list[int]]:
    """Return the indices of the lists with these ids, by id."""
    there: dict[object, list[int]] = {}
    for index, id_ in enumerate(names.ids if ids else ()):
        if id_ in ids:
            there.setdefault(id_, []).append(index)
    return there


def _leave(plan: ListChanges, there: dict[object, list[int]], new: dict[object, SetList], key: object) -> bool:
    """Drop a list, and return whether there was one."""
    indices = there.pop(key, [])
    plan.kept[indices] = False
    return new.pop(key, None) is not None or bool(indices)


def _keep_newest(plan: ListChanges, most: int) -> None:
    """Drop the oldest lists, so that at most this many are left."""
    plan.dropped = max(0, int(plan.kept.sum()) + len(plan.new) - most)
    oldest = np.flatnonzero(plan.kept)[: plan.dropped]
    plan.kept[oldest] = False
    plan.new = plan.new[plan.dropped - len(oldest) :]


def new_memory(memory: Memory, plan: ListChanges, index: dict[str, int]) -> Memory:
    """Return the memory of the lists that are left and the new ones; `index` has the items of these by id."""
    kept = memory.without(~plan.kept)
    return kept.with_lists([np.array([index[str(item)] for item in one.items], dtype=np.int64) for one in plan.new])


def new_list_names(names: ListNames, plan: ListChanges) -> ListNames:
    """Return the names of the lists of `new_memory`."""
    kept = plan.kept.tolist()
    titles = names.titles or [None] * len(names)
    ids = [id_ for id_, stays in zip(names.ids, kept, strict=True) if stays]
    left = [title for title, stays in zip(titles, kept, strict=True) if stays]
    ids += [one.id for one in plan.new]
    left += [one.title for one in plan.new]
    return ListNames(ids, left if any(title is not None for title in left) else None)
