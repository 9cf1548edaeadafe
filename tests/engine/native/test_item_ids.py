"""Items by their ids in the kernel, compared with a dictionary."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fansrec.engine.native import item_ids
from fansrec.engine.native.item_ids import ItemIndex, item_index
from fansrec.vocabulary.string_table import StringTable

pytestmark = pytest.mark.usefixtures("native_kernel")

IDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


@given(st.lists(IDS, unique=True, max_size=80), st.lists(IDS, max_size=80), st.randoms(use_true_random=False))
def test_ids_are_found_as_in_a_dictionary(ids: list[str], others: list[str], random: object) -> None:
    index, items = ItemIndex(StringTable.from_strings(ids)), {id_: item for item, id_ in enumerate(ids)}
    texts = ids + others
    random.shuffle(texts)  # type: ignore[attr-defined]
    found, unknown = index(texts) or ([], 0)
    assert list(found) == [items.get(text, -1) for text in texts]
    assert unknown == sum(text not in items for text in texts)


def test_all_ids_of_a_large_catalog_are_found() -> None:
    ids = [f"track-{number:07}" for number in range(100_000)]
    index = ItemIndex(StringTable.from_strings(ids))
    found, unknown = index(ids) or ([], -1)
    assert list(found) == list(range(100_000)) and unknown == 0
    found, unknown = index([id_ + "x" for id_ in ids[:1000]]) or ([], -1)
    assert list(found) == [-1] * 1000 and unknown == 1000


def test_ids_that_begin_alike_or_differ_in_length_are_told_apart() -> None:
    ids = ["", "a", "aa", "aaaaaaaa", "aaaaaaaaa", "aaaaaaaa\u00e4", "\u00e4", "A"]
    found, unknown = ItemIndex(StringTable.from_strings(ids))([*ids, "aaaaaaa", "aaa"]) or ([], -1)
    assert list(found) == [*range(len(ids)), -1, -1] and unknown == 2


@pytest.mark.parametrize("texts", [["a\0b"], ["a", "b\0c", "d"], ["\0"], ["\ud800"], ["a", "\udfff"]])
def test_texts_that_the_kernel_cannot_take_are_left_to_others(texts: list[str]) -> None:
    assert ItemIndex(StringTable.from_strings(["a", "b"]))(texts) is None


def test_no_index_without_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANS_NATIVE", "off")
    assert item_index(StringTable.from_strings(["a"])) is None


def test_no_index_of_more_items_than_slots_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_ids, "MAX_ITEMS", 1)
    assert item_index(StringTable.from_strings(["a", "b"])) is None
    assert item_index(StringTable.from_strings(["a"])) is not None
