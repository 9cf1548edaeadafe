from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from fansrec.engine.interface import Continuation
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting
from fansrec.evaluation.protocol import (
    EvaluationLists,
    evaluation_lists,
    first_items,
    list_metrics,
    mean,
    predict,
    protocol,
    protocol_rules,
    shorten,
)
from worlds import corpus_of, vocabulary_of


class FakeEngine:
    """Answers every list with 0, 1, 2, … and records the call."""

    def __init__(self, generation: str = "one-pass") -> None:
        self.generation = generation

    def continue_lists(
        self, inputs: Sequence[NDArray[np.int64]], k: int | Sequence[int], rules: Rules
    ) -> list[Continuation]:
        self.k, self.rules = [k] * len(inputs) if isinstance(k, int) else list(k), rules
        zeros = [np.zeros(count, dtype=np.float32) for count in self.k]
        return [Continuation(np.arange(len(none)), none, none.astype(np.int64)) for none in zeros]


def lists_of(*targets: list[int]) -> EvaluationLists:
    return EvaluationLists(
        [np.array([90, 91])] * len(targets), [np.array(target, dtype=np.int32) for target in targets]
    )


def test_paper_protocol_masks_the_target_length_and_keeps_the_input() -> None:
    engine = FakeEngine()
    predict(engine, lists_of([1] * 3, [1] * 14), protocol("paper"))
    assert engine.k == [3, 14]
    assert engine.rules.keep_seen


@pytest.mark.parametrize("generation", ["autoregressive", "recall"])
def test_other_modes_generate_only_scored_items(generation: str) -> None:
    engine = FakeEngine(generation)
    predict(engine, lists_of([1] * 3, [1] * 14), protocol("paper"))
    assert engine.k == [3, 10]


def test_standard_protocol_masks_ten_and_excludes_the_input() -> None:
    engine = FakeEngine()
    predict(engine, lists_of([1] * 3, [1] * 14), protocol("standard"))
    assert engine.k == [10, 10]
    assert not engine.rules.keep_seen


def test_input_masks_and_fill_can_be_overridden() -> None:
    engine = FakeEngine()
    one = protocol("standard", input="kept", masks="target")
    predict(engine, lists_of([1] * 3), one, protocol_rules(one, "depth-first"))
    assert engine.k == [3]
    assert engine.rules == Rules(keep_seen=True, fill="depth-first")


def test_unknown_protocol_is_refused() -> None:
    with pytest.raises(BadSetting, match="paper or standard"):
        protocol("mine")


def test_answers_are_cut_or_padded_to_ten_items() -> None:
    answers = predict(FakeEngine(), lists_of([1] * 3, [1] * 14), protocol("paper"))
    assert answers.tolist() == [[0, 1, 2] + [-1] * 7, list(range(10))]


def test_metrics_at_later_positions_request_more_items() -> None:
    engine = FakeEngine("recall")
    lists = lists_of([1] * 3, [1] * 24)
    answers = predict(engine, lists, protocol("standard", most=20), most=20)
    assert engine.k == [20, 20] and answers.shape == (2, 20)
    answers = predict(engine, lists, protocol("paper", most=20), most=20)
    assert engine.k == [3, 20] and answers[0].tolist() == [0, 1, 2] + [-1] * 17
    assert protocol("standard", most=3).masks == "10"


def test_input_is_the_first_half_and_target_the_second() -> None:
    corpus = corpus_of([[0, 1, 2, 3, 4], [3, 3, 3], [1, 2]], vocabulary_of([5]), [2, 0, 2])
    lists = evaluation_lists(corpus, "test")
    assert [items.tolist() for items in lists.inputs] == [[0, 1, 2], [1]]
    assert [items.tolist() for items in lists.targets] == [[3, 4], [2]]


def test_shortened_inputs_are_the_items_before_the_same_targets() -> None:
    corpus = corpus_of([[0, 1, 2, 3, 4], [1, 2]], vocabulary_of([5]), [2, 2])
    lists = evaluation_lists(corpus, "test")
    short = shorten(lists, 2)
    assert [items.tolist() for items in short.inputs] == [[1, 2], [1]]  # the second input has only one item
    assert [items.tolist() for items in shorten(lists, 1).inputs] == [[2], [1]]
    assert short.targets is lists.targets
    assert [items.tolist() for items in lists.inputs] == [[0, 1, 2], [1]]


def test_less_than_one_given_item_is_refused() -> None:
    assert protocol("standard", given=1).given == 1
    with pytest.raises(BadSetting, match="0 given items"):
        protocol("standard", given=0)


def test_limited_lists_are_evenly_spaced() -> None:
    corpus = corpus_of([[n, n] for n in range(20)], vocabulary_of([20]), [2] * 20)
    assert [int(items[0]) for items in evaluation_lists(corpus, "test", 3).inputs] == [0, 9, 19]


def test_lists_counted_at_ten_differ_only_in_the_paper_protocol() -> None:
    lists = lists_of([0] * 4, [50] * 6, [9] * 10)  # the first has a hit at rank 1, the last at rank 10
    answers = first_items([np.arange(10)] * 3)
    paper, standard = (
        list_metrics(answers, lists, protocol("paper")),
        list_metrics(answers, lists, protocol("standard")),
    )
    assert paper["HR@5"].tolist() == [0, 0]
    assert paper["HR@10"].tolist() == [1]
    assert standard["HR@5"].tolist() == [1, 0, 0]
    assert standard["HR@10"].tolist() == [1, 0, 1]
    assert standard["NDCG@10"].tolist() == pytest.approx([1, 0, 1 / np.log2(11)])


def test_mean_without_lists_is_nan() -> None:
    assert np.isnan(mean(np.array([])))
    assert mean(np.array([0.0, 1.0])) == 0.5
