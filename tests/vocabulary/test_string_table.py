import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fansrec.vocabulary.string_table import Texts

texts = st.lists(st.none() | st.text(st.characters(codec="utf-8"), max_size=5), max_size=30)


@given(column=texts)
def test_texts_read_as_the_list_they_were_made_of(column: list[str | None]) -> None:
    made = Texts.of(column)
    assert list(made) == column and len(made) == len(column)
    assert made[1:-1:2] == column[1:-1:2]
    assert [made[-n] for n in range(1, len(column) + 1)] == column[::-1]
    assert made.any() == any(text is not None for text in column)


@given(column=texts, wanted=st.text(max_size=2))
def test_every_place_of_a_text_is_found_and_no_other(column: list[str | None], wanted: str) -> None:
    made = Texts.of(column)
    for text in {wanted, *column} - {None}:
        assert made.places(text) == [place for place, held in enumerate(column) if held == text]


@given(parts=st.lists(texts, max_size=4))
def test_parts_joined_are_one_column(parts: list[list[str | None]]) -> None:
    assert list(Texts.joined([Texts.of(part) for part in parts])) == [text for part in parts for text in part]


def test_the_empty_text_is_not_the_absent_one() -> None:
    made = Texts.of(["", None, ""])
    assert made.places("") == [0, 2] and made[1] is None


def test_half_a_character_is_not_found() -> None:
    assert Texts.of(["a", "ü"]).places("\ud800") == []


def test_a_place_beyond_the_end_is_an_error() -> None:
    with pytest.raises(IndexError):
        Texts.of(["a"])[1]


def test_a_number_of_numpys_is_a_place() -> None:
    assert Texts.of(["a", "b"])[np.int64(1)] == "b"  # type: ignore[call-overload]


@pytest.mark.parametrize("wrong", [3, 0, [], {}, b"x"])
def test_what_is_no_text_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError):
        Texts.of(["a", wrong])  # type: ignore[list-item]


@given(column=texts)
def test_texts_that_come_twice_are_noticed(column: list[str | None]) -> None:
    there = [text for text in column if text is not None]
    assert Texts.of(column).all_distinct() == (len({*there}) == len(there))
