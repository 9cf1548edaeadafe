"""Items that are in no list are in the memory with lists of items like them, until a list contains them."""

import numpy as np
import pytest

from fansrec.api.continuer import Continuer
from fansrec.artifact import Artifact
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.updating.borrowed import with_borrowed, without_borrowed
from fansrec.updating.changes import SetItem, SetList
from fansrec.updating.memory import NAMES, Memory
from fansrec.updating.update import update

NEW = SetItem("new", group="artist 1")  # that of i5 to i9


def memory_of(lists: list[list[int]], items: int) -> Memory:
    flat, offsets = np.concatenate(lists).astype(np.int32), np.cumsum([0, *map(len, lists)])
    arrays = ListMemory.of(items, flat, offsets).state_dict()
    return Memory(*(arrays[name].numpy() for name in NAMES))


def borrowed(artifact: Artifact) -> list[str]:
    found: list[str] = artifact.config["updates"]["borrowed"]
    return found


def test_item_borrows_the_newest_lists_of_its_proxies() -> None:
    memory = memory_of([[0, 1], [1, 2], [2, 0], [1, 0, 2]], 4)
    held = with_borrowed(memory, np.array([3]), [[0]])
    assert held.lists[held.list_starts[3] :].tolist() == [0, 2, 3]  # 1.25 times three lists, of which there are three
    assert held.list_places[held.list_starts[3] :].tolist() == [0, 1, 1]  # where item 0 is
    assert held.items[held.starts[3] : held.starts[4]].tolist() == [1, 0, 2, 3]


def test_memory_without_borrowed_lists_is_the_one_before() -> None:
    memory = memory_of([[0, 1], [1, 2, 1], [2, 0]], 6)
    held = with_borrowed(memory, np.array([3, 4, 5]), [[0], [1, 2], []])
    assert len(held.items) > len(memory.items)
    left = without_borrowed(held, np.array([3, 4]))
    assert all(getattr(left, name).tobytes() == getattr(memory, name).tobytes() for name in NAMES)


def test_lists_whose_repetitions_would_be_hidden_are_not_borrowed() -> None:
    memory = memory_of([[0, 0, 1], [0, 1]], 3)  # the last position of the first list would be that of its last entry
    held = with_borrowed(memory, np.array([2]), [[0]])
    assert held.lists[held.list_starts[2] :].tolist() == [1]


@pytest.mark.parametrize("backend", ["torch", "native"])
def test_described_item_is_recommended_beside_items_of_its_group(hybrid: Artifact, backend: str) -> None:
    updated, _ = update(hybrid, [NEW])
    assert borrowed(updated) == ["new"]
    model = Continuer(updated, backend=backend)
    (answer,) = model.continue_lists([["i5", "i6"]], k=10)
    assert "new" in [one.item for one in answer.positions]


def test_item_of_a_list_borrows_none(hybrid: Artifact) -> None:
    described, _ = update(hybrid, [NEW])
    listed, _ = update(described, [SetList("a", ("new", "i20"))])
    once, _ = update(hybrid, [NEW, SetList("a", ("new", "i20"))])
    assert borrowed(listed) == []
    for name, array in once.stored.arrays.items():
        assert listed.stored.arrays[name].tobytes() == array.tobytes(), name


def test_borrowed_lists_do_not_count(hybrid: Artifact) -> None:
    updated, _ = update(hybrid, [NEW])
    assert updated.counts is not None
    assert updated.counts[list(updated.vocabulary.ids).index("new")] == 0


def test_explanation_names_no_borrowed_lists(hybrid: Artifact) -> None:
    updated, _ = update(hybrid, [NEW])
    (answer,) = Continuer(updated).continue_lists([["i5", "i6"]], k=10, explain=True)
    lists = {one.item: one.explanation.lists for one in answer.positions if one.explanation}
    assert not lists["new"] and any(lists.values())


def test_item_of_a_known_category_alone_has_the_popular_items_of_the_category_as_proxies(hybrid: Artifact) -> None:
    updated, _ = update(hybrid, [SetItem("new", category="c1"), SetItem("other")])
    assert borrowed(updated) == ["new"]  # nothing is known of the other item
