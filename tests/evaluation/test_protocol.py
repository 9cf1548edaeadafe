from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from fansrec.engine.interface import Continuation
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting
from fansrec.evaluation.protocol import Questions, ask, first_items, judge, mean, protocol, questions
from worlds import corpus_of, vocabulary_of


class Parrot:
    """Answers every list with 0, 1, 2, … and remembers what it was asked."""

    def __init__(self, generation: str = "one-pass") -> None:
        self.generation = generation

    def continue_lists(
        self, inputs: Sequence[NDArray[np.int64]], k: int | Sequence[int], rules: Rules
    ) -> list[Continuation]:
        self.k, self.rules = [k] * len(inputs) if isinstance(k, int) else list(k), rules
        zeros = [np.zeros(count, dtype=np.float32) for count in self.k]
        return [Continuation(np.arange(len(none)), none, none.astype(np.int64)) for none in zeros]


def asked_of(*targets: list[int]) -> Questions:
    return Questions([np.array([90, 91])] * len(targets), [np.array(target, dtype=np.int32) for target in targets])


def test_the_paper_masks_as_many_as_the_target_has_and_keeps_the_input() -> None:
    parrot = Parrot()
    ask(parrot, asked_of([1] * 3, [1] * 14), protocol("paper"))
    assert parrot.k == [3, 14]
    assert parrot.rules.keep_seen


@pytest.mark.parametrize("generation", ["autoregressive", "recall"])
def test_where_later_items_change_no_earlier_ones_no_more_are_made_than_are_judged(generation: str) -> None:
    parrot = Parrot(generation)
    ask(parrot, asked_of([1] * 3, [1] * 14), protocol("paper"))
    assert parrot.k == [3, 10]


def test_the_standard_masks_ten_and_excludes_the_input() -> None:
    parrot = Parrot()
    ask(parrot, asked_of([1] * 3, [1] * 14), protocol("standard"))
    assert parrot.k == [10, 10]
    assert not parrot.rules.keep_seen


def test_input_masks_and_fill_may_be_told() -> None:
    parrot = Parrot()
    ask(parrot, asked_of([1] * 3), protocol("standard", input="kept", masks="target"), "depth-first")
    assert parrot.k == [3]
    assert parrot.rules == Rules(keep_seen=True, fill="depth-first")


def test_a_protocol_nobody_knows_is_refused() -> None:
    with pytest.raises(BadSetting, match="paper or standard"):
        protocol("mine")


def test_an_answer_is_cut_to_ten_items_and_a_shorter_one_is_filled_up_with_none() -> None:
    answers = ask(Parrot(), asked_of([1] * 3, [1] * 14), protocol("paper"))
    assert answers.tolist() == [[0, 1, 2] + [-1] * 7, list(range(10))]


def test_the_question_is_the_first_half_of_a_list_and_the_target_the_second() -> None:
    corpus = corpus_of([[0, 1, 2, 3, 4], [3, 3, 3], [1, 2]], vocabulary_of([5]), [2, 0, 2])
    asked = questions(corpus, "test")
    assert [items.tolist() for items in asked.inputs] == [[0, 1, 2], [1]]
    assert [items.tolist() for items in asked.targets] == [[3, 4], [2]]


def test_at_most_so_many_lists_are_asked_the_first_and_the_last_among_them() -> None:
    corpus = corpus_of([[n, n] for n in range(20)], vocabulary_of([20]), [2] * 20)
    assert [int(items[0]) for items in questions(corpus, "test", 3).inputs] == [0, 9, 19]


def test_the_figures_at_ten_count_other_lists_than_those_at_five_in_the_papers_protocol_only() -> None:
    asked = asked_of([0] * 4, [50] * 6, [9] * 10)  # the first has a hit at rank 1, the last at rank 10
    answers = first_items([np.arange(10)] * 3)
    paper, standard = judge(answers, asked, protocol("paper")), judge(answers, asked, protocol("standard"))
    assert paper["HR@5"].tolist() == [0, 0]
    assert paper["HR@10"].tolist() == [1]
    assert standard["HR@5"].tolist() == [1, 0, 0]
    assert standard["HR@10"].tolist() == [1, 0, 1]
    assert standard["NDCG@10"].tolist() == pytest.approx([1, 0, 1 / np.log2(11)])


def test_the_mean_of_no_lists_is_no_number() -> None:
    assert np.isnan(mean(np.array([])))
    assert mean(np.array([0.0, 1.0])) == 0.5
