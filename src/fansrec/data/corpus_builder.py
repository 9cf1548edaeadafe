"""From lists, parts and categories to a corpus: item indices in category order, the vocabulary and the summary."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec import __version__
from fansrec.data.categories import Categories
from fansrec.data.corpus import Corpus, fingerprint
from fansrec.data.item_details import ItemDetails
from fansrec.data.lists import Lists
from fansrec.data.settings import Preparation
from fansrec.data.splitting import NO_KEYS, TRAIN, ListKeys, describe_split, part_sizes
from fansrec.vocabulary import ListNames, Vocabulary

INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")


@dataclass(frozen=True)
class Selection:
    """The lists that passed the filter, with new item indices without gaps, their parts and their groups."""

    lists: Lists
    ids: Sequence[str]
    source_indices: NDArray[np.int64]  # (items,): the indices of the items in the source
    parts: NDArray[np.uint8]  # (lists,)
    keys: ListKeys = NO_KEYS
    integers: NDArray[np.bool_] | None = None  # (items,): ids that are integers; None if the source has only text
    names: ListNames | None = None  # of the lists

    @property
    def train(self) -> Lists:
        return self.lists.keep_lists(self.parts == TRAIN)


def build_corpus(selection: Selection, details: ItemDetails, categories: Categories) -> Corpus:
    """Return a corpus, its summary still empty."""
    frequency = np.bincount(selection.train.items, minlength=len(selection.ids))
    order = item_order(selection.ids, frequency, categories)
    indices = np.argsort(order).astype(np.int32)
    vocabulary = ordered_vocabulary(selection.ids, order, details, categories, selection.integers)
    lists = selection.lists
    items, names = indices[lists.items], selection.names
    return Corpus(items, lists.offsets, selection.parts, vocabulary, {}, selection.keys.groups, names)


def item_order(ids: Sequence[str], frequency: NDArray[np.int64], categories: Categories) -> NDArray[np.int64]:
    """Sort the items by category, then descending frequency in training, then id: a category is then one slice."""
    by_id = np.argsort(np.array(sorted(range(len(ids)), key=ids.__getitem__)))
    return np.lexsort((by_id, -frequency, categories.labels))


def ordered_vocabulary(
    ids: Sequence[str],
    order: NDArray[np.int64],
    details: ItemDetails,
    categories: Categories,
    integers: NDArray[np.bool_] | None = None,
) -> Vocabulary:
    """Return the items in this order; `integers` says which ids are integers, None: all of them or none."""
    ids = [ids[index] for index in order.tolist()]
    are_integers = np.array([INTEGER.fullmatch(id_) is not None for id_ in ids], dtype=np.bool_)
    if integers is None:
        are_integers[:] = are_integers.all()
    else:
        are_integers &= integers[order]
    sizes = np.bincount(categories.labels, minlength=len(categories.names))
    return Vocabulary(
        ids=ids,
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        names=[details.names.get(id_) for id_ in ids] if details.names else None,
        groups=[details.groups.get(id_) for id_ in ids] if details.groups else None,
        category_names=categories.names,
        integer_ids=bool(are_integers.all()),
        integer_items=are_integers if 0 < np.count_nonzero(are_integers) < len(ids) else None,
        group_name=details.group_name,
        dates=[details.dates.get(id_) for id_ in ids] if details.dates else None,
    )


def summarize(
    corpus: Corpus,
    categories: Categories,
    preparation: Preparation,
    source: str,
    keys: ListKeys,
    columns: dict[str, str | None] | None = None,
) -> dict[str, Any]:
    """Return the content of summary.json; `keys` are those that the lists were split by."""
    lists, items, interactions = len(corpus), len(corpus.vocabulary), len(corpus.items)
    return {
        "source": source,
        "lists": lists,
        "items": items,
        "interactions": interactions,
        "categories": len(categories.names),
        "shortest": int(corpus.lengths.min()),
        "longest": int(corpus.lengths.max()),
        "mean_length": round(interactions / lists, 4),
        "density": round(interactions / lists / items, 8),
        "splits": part_sizes(corpus.parts),
        "split": describe_split(keys, preparation),
        "columns": columns,
        "categories_from": categories.learned_from,
        "categories_taught_by": categories.taught_by,
        "preparation": json.loads(json.dumps(asdict(preparation))),
        "fingerprint": fingerprint(corpus),
        "version": __version__,
    }
