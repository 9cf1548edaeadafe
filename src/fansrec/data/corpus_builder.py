"""From lists, parts and categories to a corpus: item indices in category order, the vocabulary and the summary."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec import __version__
from fansrec.data.categories import Categories
from fansrec.data.corpus import PARTS, Corpus, fingerprint
from fansrec.data.item_details import ItemDetails
from fansrec.data.lists import Lists
from fansrec.data.settings import Preparation
from fansrec.data.splitting import TRAIN
from fansrec.vocabulary import Vocabulary

INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")


@dataclass(frozen=True)
class Selection:
    """The lists that passed the filter, with new item indices without gaps, their parts and their groups."""

    lists: Lists
    ids: Sequence[str]
    source_indices: NDArray[np.int64]  # (items,): the indices of the items in the source
    parts: NDArray[np.uint8]  # (lists,)
    groups: NDArray[np.int64] | None = None  # (lists,)

    @property
    def train(self) -> Lists:
        return self.lists.keep_lists(self.parts == TRAIN)


def build_corpus(selection: Selection, details: ItemDetails, categories: Categories) -> Corpus:
    """Return a corpus, its summary still empty."""
    frequency = np.bincount(selection.train.items, minlength=len(selection.ids))
    order = item_order(selection.ids, frequency, categories)
    indices = np.argsort(order).astype(np.int32)
    vocabulary = ordered_vocabulary(selection.ids, order, details, categories)
    lists = selection.lists
    return Corpus(indices[lists.items], lists.offsets, selection.parts, vocabulary, {}, selection.groups)


def item_order(ids: Sequence[str], frequency: NDArray[np.int64], categories: Categories) -> NDArray[np.int64]:
    """Sort the items by category, then descending frequency in training, then id: a category is then one slice."""
    by_id = np.argsort(np.array(sorted(range(len(ids)), key=ids.__getitem__)))
    return np.lexsort((by_id, -frequency, categories.labels))


def ordered_vocabulary(
    ids: Sequence[str], order: NDArray[np.int64], details: ItemDetails, categories: Categories
) -> Vocabulary:
    ids = [ids[index] for index in order.tolist()]
    sizes = np.bincount(categories.labels, minlength=len(categories.names))
    return Vocabulary(
        ids=ids,
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        names=[details.names.get(id_) for id_ in ids] if details.names else None,
        groups=[details.groups.get(id_) for id_ in ids] if details.groups else None,
        category_names=categories.names,
        integer_ids=all(INTEGER.fullmatch(id_) for id_ in ids),
        group_name=details.group_name,
    )


def summarize(corpus: Corpus, categories: Categories, preparation: Preparation, source: str) -> dict[str, Any]:
    """Return the content of summary.json."""
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
        "categories_from": categories.learned_from,
        "categories_taught_by": categories.taught_by,
        "preparation": asdict(preparation),
        "fingerprint": fingerprint(corpus),
        "version": __version__,
    }


def part_sizes(parts: NDArray[np.uint8]) -> dict[str, int]:
    return dict(zip(PARTS, np.bincount(parts, minlength=len(PARTS)).tolist(), strict=True))
