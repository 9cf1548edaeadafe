"""Arguments of the Python API from numpy, pandas and polars, and arguments that cannot be used."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fansrec.api.continuer import Continuer
from fansrec.errors import BadSetting

LISTS = [["i1", "i2"], ["i30"]]


@pytest.mark.parametrize(
    "lists",
    [
        pd.Series(LISTS),
        [pd.Series(["i1", "i2"]), pd.Series(["i30"])],
        pl.Series(LISTS),
        [np.array(["i1", "i2"]), np.array(["i30"])],
        (tuple(items) for items in LISTS),
    ],
)
def test_lists_of_other_libraries_are_accepted(songs_model: Continuer, lists: Any) -> None:
    assert songs_model.continue_lists(lists, np.int64(3)) == songs_model.continue_lists(LISTS, 3)


def test_unknown_items_of_numpy_are_returned_as_values_of_python(songs_model: Continuer) -> None:
    (answer,) = songs_model.continue_lists([np.array([7, 8])], fallback="popular")
    assert answer.unknown == [7, 8] and {type(item) for item in answer.unknown} == {int}


def test_rules_accept_numbers_of_numpy(songs_model: Continuer) -> None:
    rules: dict[str, Any] = {"max_per_group": np.int32(1), "min_score": np.float32(-99), "exclude": pd.Series(["i3"])}
    expected = songs_model.continue_lists(LISTS, 3, max_per_group=1, min_score=-99.0, exclude=["i3"])
    assert songs_model.continue_lists(LISTS, 3, **rules) == expected


def test_categories_limit_the_answer(songs_model: Continuer) -> None:
    (answer,) = songs_model.continue_lists([["i1"]], 20, categories=["c3"])
    assert {position.category for position in answer.positions} == {"c3"} and len(answer.items) == 15


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 2.5}, "k is 2.5; it must be a whole number"),
        ({"k": np.float64(3)}, "k is 3.0; it must be a whole number"),
        ({"k": "3"}, "k is '3'; it must be a whole number"),
        ({"k": True}, "k is True; it must be a whole number"),
        ({"k": None}, "k is None; it must be a whole number"),
        ({"k": 0}, "k is 0; ask for at least one item"),
        ({"max_per_group": 1.5}, "max_per_group is 1.5; it must be a whole number"),
        ({"min_score": "0.5"}, "min_score is '0.5'; it must be a number"),
        ({"min_score": float("nan")}, "min_score is nan; it must be a number"),
        ({"exclude": "i1"}, r"exclude is 'i1'; give a list, such as \['i1'\]"),
        ({"allow": "i1"}, r"allow is 'i1'; give a list, such as \['i1'\]"),
        ({"allow": 7}, r"allow is 7; give a list, such as \[7\]"),
        ({"allow": []}, "allow is empty, so that no item could be answered"),
        ({"categories": "c1"}, r"categories is 'c1'; give a list, such as \['c1'\]"),
        ({"categories": ["c9"]}, "this model has no category c9"),
        ({"lists": "i1"}, "lists is 'i1'; give lists of items"),
        ({"lists": 7}, "lists is 7; give lists of items"),
        ({"lists": ["i1"]}, r"list 0 of lists is the item 'i1'; give lists of items, such as \[\['i1'\]\]"),
        ({"lists": pd.Series(["i1", "i2"])}, "list 0 of lists is the item 'i1'"),
        ({"lists": pd.DataFrame({"items": ["i1"]})}, "list 0 of lists is the item 'items'"),
        ({"lists": [["i1"], 7]}, "list 1 of lists is the item 7"),
        ({"lists": [["i1", 5.0]]}, "list 0 of lists has 5.0, of type float; an item must be text or an integer"),
        ({"lists": [[float("nan")]]}, "list 0 of lists has nan, of type float"),
        ({"lists": [["i1"], [None]]}, "list 1 of lists has None, of type NoneType"),
        ({"lists": [np.array([5.0])]}, "list 0 of lists has 5.0, of type float64"),
        ({"lists": [[True]]}, "list 0 of lists has True, of type bool"),
        ({"lists": [[["i1"]]]}, r"list 0 of lists has \['i1'\], of type list"),
        ({"lists": [[b"i1"]]}, "list 0 of lists has b'i1', of type bytes"),
        ({"exclude": [5.0]}, "exclude has 5.0, of type float"),
        ({"allow": ["i1", None]}, "allow has None, of type NoneType"),
        ({"lists": np.array([7, 8])}, "list 0 of lists is the item 7"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused_by_their_names(
    songs_model: Continuer, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadSetting, match=message):
        songs_model.continue_lists(**{"lists": LISTS} | arguments)


@pytest.mark.parametrize(
    ("items", "k", "message"),
    [
        ("i1", 3, "items is 'i1'; give a list"),
        (["i1"], 2.5, "k is 2.5; it must be a whole number"),
        (["i1"], 0, "k is 0; ask for at least one item"),
    ],
)
def test_arguments_of_similar_items_are_checked(songs_model: Continuer, items: Any, k: Any, message: str) -> None:
    with pytest.raises(BadSetting, match=message):
        songs_model.similar_items(items, k)
