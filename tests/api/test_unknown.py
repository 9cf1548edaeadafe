"""What is said about unknown items: the message names items that may be meant."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fansrec.api.unknown import MAX_LOOKUPS, DidYouMean, close_names
from fansrec.errors import BadSetting, UnknownItems
from fansrec.vocabulary import Vocabulary

SONGS = Vocabulary(
    ids=["a", "b", "c"],
    starts=np.array([0, 3]),
    names=["Yesterday", "Let It Be", "x" * 300],
    category_names=["rock"],
)


@pytest.mark.parametrize(
    ("unknown", "expected"),
    [
        (["yestreday"], "; did you mean 'Yesterday'?"),
        (["yestreday", "nobody"], "; did you mean 'Yesterday' for 'yestreday'?"),
        (["yestreday", "let it bee"], "; did you mean 'Yesterday' for 'yestreday', 'Let It Be' for 'let it bee'?"),
        (["x" * 200], f"; did you mean {'x' * 79 + '…'!r}?"),
        (["nobody", 7, None], ""),
        ([], ""),
    ],
)
def test_message_names_items_that_may_be_meant(unknown: list[object], expected: str) -> None:
    assert DidYouMean(SONGS)(unknown) == expected


def test_lookups_of_a_call_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(Vocabulary, "suggestions", lambda self, item: asked.append(item) or [])
    did_you_mean = DidYouMean(SONGS)
    for start in range(0, 9, 3):
        did_you_mean([start, start + 1, start + 2])
    assert asked == list(range(MAX_LOOKUPS))


def test_category_of_a_similar_name_is_suggested() -> None:
    assert close_names("Rokc", ["rock", "Jazz"]) == "; did you mean 'rock'?"
    assert close_names("zzz", ["rock"]) == ""


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda model: model.continue_lists([["snog 12"]]), UnknownItems, "model: snog 12; did you mean 'Song 12'"),
        (lambda model: model.continue_lists([["i1"]], allow=["snog 12"]), BadSetting, "did you mean 'Song 12'"),
        (lambda model: model.rules(categories=["C3"]), BadSetting, "no category C3; did you mean 'c3'"),
    ],
)
def test_errors_of_a_model_suggest(
    songs_model: Any, ask: Callable[[Any], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        ask(songs_model)


def test_reason_of_a_list_of_unknown_items_suggests(songs_model: Any) -> None:
    cold, warm = songs_model.continue_lists([["snog 12"], ["SONG 12"]], 3)
    assert cold.reason == "no item of the list is known to this model; did you mean 'Song 12'?"
    assert warm.items == songs_model.continue_lists([["i12"]], 3)[0].items
