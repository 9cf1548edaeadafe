from dataclasses import replace

import numpy as np
import pytest

from fansrec.errors import BadSetting
from fansrec.experiments.speed.workloads import (
    WORKLOADS,
    even_categories,
    make_corpus,
    mixed,
    questions_of,
    sequence_length,
    workload,
)


@pytest.mark.parametrize("name", WORKLOADS)
def test_corpus_has_the_sizes_of_the_workload(name: str) -> None:
    sizes = replace(WORKLOADS[name], lists=min(WORKLOADS[name].lists, 5_000))
    corpus = make_corpus(sizes, np.random.default_rng(0))
    assert len(corpus) == sizes.lists and len(corpus.vocabulary) == sizes.items
    assert corpus.lengths.min() >= sizes.shortest and corpus.lengths.max() <= sizes.longest
    assert corpus.lengths.mean() == pytest.approx(sizes.mean, rel=0.05)


def test_small_lists_have_ten_items_and_ten_more() -> None:
    assert {(len(question.input), question.k) for question in questions_of("small", 1_000, 20, seed=0)} == {(10, 10)}


def test_questions_depend_on_the_seed() -> None:
    first, again, other = (questions_of("aotm", 500, 30, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(one.input, two.input) and one.k == two.k for one, two in zip(first, again, strict=True))
    assert any(len(one.input) != len(two.input) for one, two in zip(first, other, strict=True))


def test_sequence_length_includes_special_tokens() -> None:
    assert sequence_length(questions_of("long", 1_000, 3, seed=0)) == 303


def test_categories_have_equal_sizes() -> None:
    starts = even_categories(104_695, 250)
    assert len(starts) == 251 and (starts[0], starts[-1]) == (0, 104_695)
    assert set(np.diff(starts)) <= {418, 419}


def test_unknown_workload_is_refused_by_name() -> None:
    with pytest.raises(BadSetting, match=r"'deezer'.*spotify"):
        workload("deezer")


def test_few_questions_have_the_mean_length_of_many() -> None:
    few, many = (np.mean([len(q.input) + q.k for q in questions_of("spotify", 1_000, n, seed=0)]) for n in (50, 2_000))
    assert few == pytest.approx(many, rel=0.01)


def test_mixed_questions_start_with_the_median_and_are_complete() -> None:
    questions = questions_of("spotify", 1_000, 37, seed=0)
    order = [question.k for question in mixed(questions)]
    ranked = sorted(question.k for question in questions)
    assert sorted(order) == ranked
    assert order[0] == ranked[18] and order[1] < order[0] < order[2]
