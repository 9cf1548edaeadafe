"""The port of the authors' code must give the items of the reference engine, as it has the same weights."""

import numpy as np
import pytest

from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.experiments.speed.authors import AuthorsBert4Rec, AuthorsFans
from fansrec.experiments.speed.authors_steps import KEPT, candidates, distinct_by_position, until_a_repeat
from fansrec.experiments.speed.random_models import random_model
from fansrec.experiments.speed.workloads import questions_of

ITEMS, LONGEST = 200, 62
QUESTIONS = questions_of("aotm", ITEMS, 3, seed=0)
INPUTS, COUNTS = [question.input for question in QUESTIONS], [question.k for question in QUESTIONS]


@pytest.mark.parametrize("classifier", ["two-stage", "vanilla"])
def test_fans_matches_the_reference(classifier: str) -> None:
    model = random_model("fans", ITEMS, 4, LONGEST, 0, classifier=classifier)
    expected = TorchEngine(model, ITEMS).continue_lists(INPUTS, COUNTS, Rules(keep_seen=True))
    found = AuthorsFans(model, LONGEST).continue_lists(INPUTS, COUNTS)
    for ranking, answer in zip(found, expected, strict=True):
        assert distinct_by_position(ranking).tolist() == answer.items.tolist()


def test_fans_ranks_ten_items_per_position() -> None:
    model = random_model("fans", ITEMS, 4, LONGEST, 0)
    rankings = AuthorsFans(model, LONGEST).continue_lists(INPUTS, COUNTS)
    assert [len(ranking) for ranking in rankings] == COUNTS
    assert all(len(set(best)) == KEPT for ranking in rankings for best in ranking)


def test_bert4rec_matches_the_reference_until_an_item_is_repeated() -> None:
    model = random_model("bert4rec", ITEMS, 4, LONGEST, 0)
    expected = TorchEngine(model, ITEMS).continue_lists(INPUTS, COUNTS, Rules(keep_seen=True))
    compared = 0
    for ranking, answer in zip(AuthorsBert4Rec(model, LONGEST).continue_lists(INPUTS, COUNTS), expected, strict=True):
        found = until_a_repeat(ranking)
        known = found >= 0
        assert len(found) == len(answer.items) and (found[known] == answer.items[known]).all()
        compared += int(known.sum())
    assert compared > len(INPUTS)


def test_answers_do_not_depend_on_the_batch() -> None:
    port = AuthorsFans(random_model("fans", ITEMS, 4, LONGEST, 0), LONGEST)
    together = port.continue_lists(INPUTS, COUNTS)
    alone = [port.continue_lists([given], [k])[0] for given, k in zip(INPUTS, COUNTS, strict=True)]
    assert [distinct_by_position(one).tolist() for one in together] == [
        distinct_by_position(one).tolist() for one in alone
    ]


def test_candidates_are_filled_depth_first_up_to_a_whole_depth() -> None:
    assert candidates([[1, 2, 3], [1, 4, 5]], [0, 1, 1]) == [1, 2, 4, 3, 5]
    wide = [[position, 99] for position in range(12)]
    assert candidates(wide, np.ones(12).tolist()) == list(range(12))
