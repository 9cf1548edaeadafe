"""Which texts a misspelled or incomplete one may mean."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fansrec.vocabulary import close_texts
from fansrec.vocabulary.close_texts import CloseTexts

TEXTS = [
    "Bohemian Rhapsody - Queen",
    "Don't Stop Me Now - Queen",
    "Song 12",
    "Song 13",
    "Abba",
    "Dancing Queen - Abba",
    "naïve",
    "two\nlines",
    "東京 - くるり",
    "STRASSE",
    "ab",
    "",
]
CLOSE = CloseTexts(TEXTS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bohemian rapsody - quen", ["Bohemian Rhapsody - Queen"]),
        ("bohemian rapsody", ["Bohemian Rhapsody - Queen"]),  # the beginning, misspelled
        ("bohemian rhapsody", ["Bohemian Rhapsody - Queen"]),
        ("dont stop me now", ["Don't Stop Me Now - Queen"]),
        ("stop me now", ["Don't Stop Me Now - Queen"]),  # words in the middle
        ("snog 12", ["Song 12"]),
        ("abba", ["Abba", "Dancing Queen - Abba"]),
        ("naive", ["naïve"]),
        ("two lines", ["two\nlines"]),
        ("straße", ["STRASSE"]),
        ("東京 - くろり", ["東京 - くるり"]),
        ("song 14", []),  # another number is another song
        ("xyzzy", []),
        ("ab", []),  # too short
        ("", []),
        ("two\nlines", []),
        ("\ud800" * 5, []),
        ("x" * 1000, []),
    ],
)
def test_close_texts_are_found(text: str, expected: list[str]) -> None:
    assert [TEXTS[index] for index in CLOSE.close_to(text, 2)] == expected


def test_number_of_texts_is_limited() -> None:
    assert len(CLOSE.close_to("queen", 1)) == 1 and len(CLOSE.close_to("queen", 5)) == 3


def test_no_texts_give_no_suggestions() -> None:
    assert CloseTexts([]).close_to("anything", 3) == []


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=8), st.text(max_size=14))
def test_any_texts_and_any_question_give_valid_indices(texts: list[str], text: str) -> None:
    found = CloseTexts(texts).close_to(text, 3)
    assert len(found) == len({*found}) <= 3 and all(0 <= index < len(texts) for index in found)


@given(st.lists(st.text("abcdef ", min_size=6, max_size=12), min_size=1, max_size=8, unique=True), st.data())
def test_text_with_one_wrong_letter_is_found(texts: list[str], data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(texts))
    at = data.draw(st.integers(0, len(text) - 1))
    misspelled = (text[:at] + "x" + text[at + 1 :]).strip()
    assert texts.index(text) in CloseTexts(texts).close_to(misspelled, 50) or len(misspelled) < len(text)


def test_wrong_letter_among_equal_ones_is_found() -> None:
    assert CloseTexts(["aaaaaa", "bbbbbb"]).close_to("axaaaa", 1) == [0]


def test_letters_are_counted_in_chunks_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = close_texts._letter_counts(TEXTS)
    monkeypatch.setattr(close_texts, "CHUNK", 5)
    assert np.array_equal(close_texts._letter_counts(TEXTS), whole)
    assert close_texts._letter_counts([]).shape == (0, close_texts.LETTERS)


def test_memory_of_counting_letters_does_not_grow_with_the_texts() -> None:
    texts = ["a song of some band"] * 300_000
    tracemalloc.start()
    try:
        counts = close_texts._letter_counts(texts)
        assert tracemalloc.get_traced_memory()[1] - counts.nbytes < 80e6  # 8 bytes for each count would be 77 MB twice
    finally:
        tracemalloc.stop()
