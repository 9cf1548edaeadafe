"""An answer has the same content in Python, over HTTP, on the command line and in files."""

import numpy as np
import pytest

from fansrec.api.answers import Answer
from fansrec.api.formatting import format_answer, item_details, shortage_reason
from fansrec.engine.interface import Continuation
from fansrec.engine.rules import Rules
from worlds import vocabulary_of

VOCABULARY = vocabulary_of([2, 2])
CONTINUATION = Continuation(np.array([3, 0]), np.array([-1.23456789, -2.5], dtype=np.float32), np.array([1, 0]))


def fields(k: int, digits: int | None = None) -> dict[str, object]:
    return format_answer(CONTINUATION, ["x"], k, Rules(), item_details(VOCABULARY), digits)


def test_fields_name_the_items_and_round_scores() -> None:
    made = fields(2, digits=6)
    assert made["positions"][0] == {
        "item": VOCABULARY.id(3),
        "name": VOCABULARY.name(3),
        "group": None,
        "category": VOCABULARY.category(3),
        "score": -1.234568,
    }
    assert (made["unknown"], made["reason"]) == (["x"], None)


def test_answer_keeps_all_fields() -> None:
    answer = Answer.from_fields(fields(3))
    assert answer.items == [VOCABULARY.id(3), VOCABULARY.id(0)]
    assert answer.positions[0].score == pytest.approx(-1.23456789, abs=1e-7)
    assert answer.to_json()["items"] == answer.items and answer.to_json()["positions"][1]["score"] == -2.5
    assert answer.to_line() == {
        "items": answer.items,
        "scores": [-1.234568, -2.5],
        "unknown": ["x"],
        "reason": "only 2 of 3 items are left under the rules (the items of the input)",
    }


def test_reason_names_the_rules_in_use() -> None:
    rules = Rules(exclude=[1], allow=[2], keep_seen=True, min_score=0.5)
    assert shortage_reason(1, 5, rules) == "only 1 of 5 items are left under the rules (exclude, allow, min_score)"
    assert "the catalog has no more" in shortage_reason(1, 5, Rules(keep_seen=True))
