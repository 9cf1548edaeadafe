"""A list memory after any sequence of changes equals the memory of the final lists, byte for byte."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.updating.memory import NAMES, Memory

ITEMS = 7
LIST = st.lists(st.integers(0, ITEMS - 1), min_size=1, max_size=6)
ADDED = st.tuples(st.just("add"), st.lists(LIST, max_size=3))
REMOVED = st.tuples(st.just("remove"), st.sets(st.integers(0, 9)))
CHANGES = st.lists(st.one_of(ADDED, REMOVED), max_size=5)


def learned(lists: list[list[int]], items: int = ITEMS) -> dict[str, np.ndarray]:
    flat = np.array([item for one in lists for item in one], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in lists], dtype=np.int64)]).astype(np.int64)
    return {name: buffer.numpy() for name, buffer in ListMemory.of(items, flat, offsets).named_buffers()}


def assert_equal(memory: Memory, expected: dict[str, np.ndarray]) -> None:
    for name in NAMES:
        found = getattr(memory, name)
        assert found.dtype == expected[name].dtype, name
        assert found.tobytes() == expected[name].tobytes(), name


@settings(max_examples=200, deadline=None)
@given(start=st.lists(LIST, max_size=4), changes=CHANGES)
def test_changed_memory_equals_the_memory_of_the_final_lists(start, changes) -> None:
    lists, memory = list(start), Memory(**learned(start))
    for kind, change in changes:
        if kind == "add":
            lists += change
            memory = memory.with_lists([np.array(one, dtype=np.int64) for one in change])
        else:
            removed = np.array([index in change for index in range(len(lists))], dtype=np.bool_)
            lists = [one for one, gone in zip(lists, removed, strict=True) if not gone]
            memory = memory.without(removed)
        assert_equal(memory, learned(lists))


@settings(max_examples=100, deadline=None)
@given(start=st.lists(LIST, max_size=4), gaps=st.lists(st.integers(0, 2), min_size=ITEMS, max_size=ITEMS))
def test_items_get_other_indices(start, gaps) -> None:
    indices = np.cumsum(np.array(gaps) + 1) - 1
    items = int(indices[-1]) + 2
    found = Memory(**learned(start)).with_items(indices, items)
    assert_equal(found, learned([indices[one].tolist() for one in start], items))


def test_item_of_no_list_leaves_the_vocabulary() -> None:
    memory = Memory(**learned([[0, 2], [2, 4]]))
    indices = np.array([0, -1, 1, -1, 2, -1, -1])
    assert_equal(memory.with_items(indices, 3), learned([[0, 1], [1, 2]], 3))
