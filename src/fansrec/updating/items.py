"""The items of an updated model: which there are, what is known of them, their categories, and their vocabulary."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fansrec.updating.changes import SetItem, SetList
from fansrec.updating.evidence import Evidence
from fansrec.updating.memory import Indices, Memory, starts_of
from fansrec.updating.state import State, Trained
from fansrec.vocabulary import Vocabulary

COLUMNS = ("names", "groups", "dates")  # of a vocabulary
FIELDS = {"names": "name", "groups": "group", "dates": "date"}  # of SetItem, by the column
MAX_DIGITS = 18

Column = list[str | None]


@dataclass(frozen=True)
class Items:
    """The items in the working order of an update, and what is known of them."""

    trained: int  # the first ones were trained
    ids: list[str]
    index: dict[str, int]  # by id
    columns: dict[str, Column]  # names, groups, dates; of all items, or empty
    described: frozenset[str]
    categories: Mapping[str, str]  # given ones of new items

    @property
    def new(self) -> Indices:
        return np.arange(self.trained, len(self.ids))

    def column(self, name: str) -> Column:
        return self.columns.get(name, [])


def items_of(state: State, vocabulary: Vocabulary, lists: Iterable[SetList], described: Sequence[SetItem]) -> Items:
    """Return the items of a state, of new lists and of new descriptions."""
    trained = state.trained.items
    known = set(state.ids)
    more = {str(item) for one in lists for item in one.items} | {str(one.id) for one in described}
    more -= known
    ids = state.ids[:trained] + sorted([*state.ids[trained:], *more])
    index = {id_: place for place, id_ in enumerate(ids)}
    new = {str(one.id) for one in described if index[str(one.id)] >= trained}
    given = {str(one.id): one.category for one in described if one.category is not None and str(one.id) in new}
    columns = {name: _column(name, state, vocabulary, index, described) for name in COLUMNS}
    return Items(
        trained,
        ids,
        index,
        {name: column for name, column in columns.items() if column},
        state.described | new,
        {**state.categories, **given},
    )


def _column(
    name: str, state: State, vocabulary: Vocabulary, index: Mapping[str, int], described: Sequence[SetItem]
) -> Column:
    """Return the names, for example, of all items; an empty list if none has any."""
    before: Sequence[str | None] | None = getattr(vocabulary, name, None)
    texts = {str(one.id): text for one in described if (text := getattr(one, FIELDS[name])) is not None}
    if before is None and not texts:
        return []
    column: Column = [None] * len(index)
    if before is not None:
        values = list(before)
        for id_, place in zip(state.ids, state.places.tolist(), strict=True):
            column[index[id_]] = values[place]
    for id_, text in texts.items():
        column[index[id_]] = text or None
    return column


def without_unused(items: Items, memory: Memory) -> tuple[Items, Memory]:
    """Return the items without new ones that are in no list and were not described, and the memory without them."""
    unused = [item for item in items.new.tolist() if not memory.counts[item] and items.ids[item] not in items.described]
    if not unused:
        return items, memory
    left = np.ones(len(items.ids), dtype=np.bool_)
    left[unused] = False
    which = np.flatnonzero(left).tolist()
    ids = [items.ids[item] for item in which]
    columns = {name: [column[item] for item in which] for name, column in items.columns.items()}
    index = {id_: place for place, id_ in enumerate(ids)}
    indices = np.where(left, np.cumsum(left) - 1, -1)
    return replace(items, ids=ids, index=index, columns=columns), memory.with_items(indices, len(ids))


def given_categories(items: Items, trained: Trained, names: Sequence[str]) -> list[str | None]:
    """Return the categories of trained items and the given ones of new items; nothing if none was given."""
    if not items.categories:
        return []
    given = [items.categories.get(id_) for id_ in items.ids[items.trained :]]
    return [*(names[category] for category in trained.categories.tolist()), *given]


def categorize(
    items: Items, trained: Trained, names: Sequence[str], memory: Memory, evidence: Evidence, proxies: list[list[int]]
) -> Indices:
    """Return the category (M,) of every item.

    That of a new item is the given one, else the one that most of the items in its lists have, else most of its
    proxies, else the largest category.
    """
    index = {name: category for category, name in reversed([*enumerate(names)])}
    found = np.full(len(items.ids), -1, dtype=np.int64)
    found[: items.trained] = trained.categories
    for id_, name in items.categories.items():
        if id_ in items.index:
            found[items.index[id_]] = index.get(name, -1)
    rows, others, together = evidence.together
    count = len(trained.sizes)
    known = (found[others] >= 0) & (others != items.trained + rows)
    votes = np.bincount(rows[known] * count + found[others[known]], together[known], len(items.new) * count)
    votes = votes.reshape(-1, count)
    largest = int(trained.sizes.argmax())
    for row in np.flatnonzero(found[items.trained :] < 0).tolist():
        if votes[row].any():
            found[items.trained + row] = votes[row].argmax()
        elif proxies[row]:
            found[items.trained + row] = np.bincount(trained.categories[proxies[row]]).argmax()
        else:
            found[items.trained + row] = largest
    return found


def new_vocabulary(
    items: Items, order: Indices, categories: Indices, before: Vocabulary, integers: NDArray[np.bool_]
) -> Vocabulary:
    """Return the vocabulary of the items in this order; `integers` (M,) are those whose ids are integers."""
    which = order.tolist()
    columns = {name: [column[item] for item in which] for name, column in items.columns.items()}
    filled = {name: column if any(text is not None for text in column) else None for name, column in columns.items()}
    some = integers[order]
    return replace(
        before,
        ids=[items.ids[item] for item in which],
        starts=starts_of(np.bincount(categories, minlength=len(before.starts) - 1)),
        integer_ids=bool(some.all()),
        integer_items=some if 0 < np.count_nonzero(some) < len(some) else None,
        **dict.fromkeys(COLUMNS) | filled,
    )


def integers_of(items: Items, before: Vocabulary, places: Indices) -> NDArray[np.bool_]:
    """Return which ids (M,) are integers: a new one if it can be and any id that was trained is one."""
    trained = before.integers[places[: items.trained]]
    may_be = bool(trained.any())
    new = [may_be and is_integer(id_) for id_ in items.ids[items.trained :]]
    return np.concatenate([trained, np.array(new, dtype=np.bool_)])


def is_integer(id_: str) -> bool:
    """Return whether an id is an integer as `str` formats it, of at most MAX_DIGITS digits."""
    digits = id_.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) <= MAX_DIGITS
    return plain and str(int(id_)) == id_
