"""The search of list memory and linear part, on lists whose continuation is known."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from fansrec.data.corpus import Corpus, FlatLists
from fansrec.evaluation.protocol import evaluation_lists
from fansrec.models.config import from_settings
from fansrec.models.hybrid.model import LinearPart
from fansrec.models.linear.slist import Slist
from fansrec.models.neighbors.config import MemoryConfig
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.models.registry import build
from fansrec.training.hybrid import held_out, linear_search, metrics, part_search
from fansrec.training.hybrid.coordinate_search import FEWEST
from fansrec.training.hybrid.held_out import FOLDS, join, make_folds
from fansrec.training.hybrid.linear_search import (
    CANDIDATES,
    LINEAR_WEIGHTS,
    Parts,
    affordable_fits,
    fit_linear,
    search_linear,
)
from fansrec.training.hybrid.metrics import best_items, metrics_per_list
from fansrec.training.hybrid.part_search import MEMORY_ERRORS, MEMORY_GRID, find_parts, order_matters, search_memory
from fansrec.training.plan import Plan, make_plan
from fansrec.training.reporting import Reporter
from worlds import corpus_of, vocabulary_of, walks

WALKS = walks()
GIVEN_MEMORY = {name: values[0] for name, values in MEMORY_GRID.items()}  # given, so that none is searched
FEW_NEIGHBORS = GIVEN_MEMORY | {"neighbours": 1}  # words: keep
SLIST, KNN = CANDIDATES[:2]


@pytest.fixture
def few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try two linear parts only, where it does not matter how many."""
    monkeypatch.setattr(linear_search, "CANDIDATES", (SLIST, KNN))


def plan_of(corpus: Corpus = WALKS, **given: Any) -> Plan:
    return make_plan("fans", {"recipe": "best"} | given, corpus)


def pairs() -> Corpus:
    """Return lists in which items 2n and 2n + 1 always come together, one in the first half, the other in the second.

    Each of the other lists has other second items too: a memory with few neighbors misses some, a linear part does not.
    """
    random = np.random.default_rng(0)
    chosen = [random.choice(20, 5, replace=False) for _ in range(300)]  # not short: a memory has more voters then
    lists = [[*(2 * pair).tolist(), *(2 * pair + 1).tolist()] for pair in chosen]
    return corpus_of(lists, vocabulary_of([20, 20]), [0] * 200 + [1] * 100)


def sums() -> Corpus:
    """Return lists a, b, c, d of which c and d follow from the sum of a and b; each item alone says nothing."""
    firsts = [(a, b) for a in range(6) for b in range(6)] * 6
    lists = [[a, 6 + b, 12 + (a + b) % 6, 18 + (a + b) % 6] for a, b in firsts]
    return corpus_of(lists, vocabulary_of([12, 12]), [0] * 144 + [1] * 72)


def test_search_finds_that_earlier_items_of_walks_count_less() -> None:
    values, tried = search_memory(plan_of(), make_folds(WALKS, FOLDS))
    assert values["before"] < MemoryConfig.before
    assert tried[0] == {name: plan_of().settings[name] for name in MEMORY_GRID} | {"gain": 0.0}
    assert all(row.keys() == {*MEMORY_GRID, "gain"} for row in tried)


def figures_of_memory(row: dict[str, Any]) -> np.ndarray:
    """Return the figures of all lists, each by a memory of the other folds."""
    config = from_settings(MemoryConfig, {name: row[name] for name in MEMORY_GRID})
    return np.concatenate([
        metrics_per_list(ListMemory.of(60, *fold.lists).votes(fold.held_out.inputs, config), fold.held_out)
        for fold in make_folds(WALKS, FOLDS)
    ])  # fmt: skip


def standard_errors_gained(figures: np.ndarray, over: np.ndarray) -> float:
    """Return the mean gain per list, as a share of each figure's mean, in standard errors."""
    gains = ((figures - over) / over.mean(0)).mean(1)
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    return float(gains.mean() / error) if error else 0.0


def test_no_tried_memory_is_significantly_better_than_the_kept_one() -> None:
    values, tried = search_memory(plan_of(), make_folds(WALKS, FOLDS))
    kept = figures_of_memory(values)
    assert standard_errors_gained(kept, figures_of_memory(tried[0])) > MEMORY_ERRORS
    assert [row for row in tried if standard_errors_gained(figures_of_memory(row), kept) > MEMORY_ERRORS] == []


def test_list_never_votes_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    # No two lists share an item, so that any vote for a list's items is its own.
    alone = corpus_of([[4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3] for n in range(FEWEST)], vocabulary_of([20, 20]))
    seen: list[torch.Tensor] = []
    monkeypatch.setattr(
        metrics, "best_items", lambda scores, inputs: seen.append(scores.clone()) or best_items(scores, inputs)
    )
    search_memory(plan_of(alone), make_folds(alone, FOLDS))
    assert seen and not any(scores.any() for scores in seen)
    assert ListMemory.of(32, *alone.flat("train")).votes([np.array([0])], MemoryConfig()).any()


def test_nothing_is_searched_without_held_out_lists() -> None:
    corpus = corpus_of([[n % 9] for n in range(20)], vocabulary_of([9]))
    plan, folds = plan_of(corpus), make_folds(corpus, FOLDS)
    assert search_memory(plan, folds) == ({name: plan.settings[name] for name in MEMORY_GRID}, [])
    found = search_linear(plan, folds, {}, 8)
    assert (found.settings, found.linear, found.tried) == ({}, SLIST, [])  # the default weights


def tried_parts(rows: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Return the distinct linear parts in the order in which they were tried."""
    settings = [
        (row["linear"], {name: row[name] for name in ("alpha", "regularization", "diagonal", "similarity", "shrinkage")
                         if name in row})
        for row in rows
    ]  # fmt: skip
    return [part for number, part in enumerate(settings) if part not in settings[:number]]


@pytest.mark.parametrize(("fits", "parts"), [(1, 2), (2, 3), (4, 5), (7, 8), (100, 8)])
def test_number_of_candidates_depends_on_the_fits_that_are_affordable(fits: int, parts: int) -> None:
    found = search_linear(plan_of(), make_folds(WALKS, 1), GIVEN_MEMORY, fits)
    assert tried_parts(found.tried) == list(CANDIDATES[:parts])  # item-kNN, the second one, costs nothing


def test_every_weight_and_decay_is_tried_and_each_part_alone() -> None:
    found = search_linear(plan_of(), make_folds(WALKS, 1), GIVEN_MEMORY, 1)
    of_slist = [row for row in found.tried if row["linear"] == "slist"]
    mixtures = [(decay, 1.0, weight) for decay in Slist.search["input_decay"] for weight in LINEAR_WEIGHTS]
    alone = [(decay, 0.0, 1.0) for decay in Slist.search["input_decay"]]
    tried = [(row["linear_decay"], row["memory_weight"], row["linear_weight"]) for row in of_slist]
    assert sorted(tried) == sorted(mixtures + alone)


def test_affordable_fits_follow_from_lists_and_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_search, "COST_OF_LIST", 60**3 / 96 * 3.5)  # the walks: 60 items, 96 training lists
    assert affordable_fits(plan_of(), WALKS) == 3
    monkeypatch.setattr(linear_search, "MOST_COST", 60**3 * 2.5)
    assert affordable_fits(plan_of(), WALKS) == 2
    twice = replace(plan_of(), config=plan_of().config | {"category_starts": (0, 120)})
    assert affordable_fits(twice, WALKS) == 0


@pytest.mark.parametrize(("fits", "calls"), [(2 * FOLDS, 3 * FOLDS), (FOLDS, 2 * FOLDS), (FOLDS - 1, FOLDS), (0, 2)])
def test_folds_are_fitted_only_if_that_is_affordable(fits: int, calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[int] = []

    def counted(candidate: Any, lists: FlatLists, plan: Plan) -> LinearPart:
        fitted.append(len(lists[1]) - 1)
        return fit_linear(candidate, lists, plan)

    monkeypatch.setattr(part_search, "affordable_fits", lambda plan, corpus: fits)
    monkeypatch.setattr(linear_search, "fit_linear", counted)
    find_parts(plan_of(**GIVEN_MEMORY), WALKS, Reporter())
    assert len(fitted) == calls  # of SLIST, and one of item-kNN for each fold
    assert (set(fitted) == {96}) == (fits < FOLDS)  # all training lists, or all but a fold


@pytest.mark.usefixtures("few_candidates")
def test_part_that_was_fitted_to_all_training_lists_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = pairs()
    assert find_parts(plan_of(corpus, memory_weight=0.0), corpus, Reporter()).fitted is None  # folds
    monkeypatch.setattr(held_out, "ENOUGH", 100)
    found = find_parts(plan_of(corpus, memory_weight=0.0), corpus, Reporter())
    assert found.linear is not None and found.fitted is not None
    expected = fit_linear(found.linear, corpus.flat("train"), plan_of(corpus))
    torch.testing.assert_close(found.fitted.weights, expected.weights)
    assert torch.equal(found.fitted.items, expected.items)


@pytest.mark.usefixtures("few_candidates")
def test_memory_alone_is_kept_where_single_items_say_nothing() -> None:
    corpus = sums()
    found = find_parts(plan_of(corpus), corpus, Reporter())
    assert found.linear is None and found.settings["linear_weight"] == 0
    assert found.settings.keys() == {*MEMORY_GRID, "linear_weight"}
    memory = ListMemory.of(24, *corpus.flat("train"))
    asked = evaluation_lists(corpus, "valid")
    values = {name: found.settings[name] for name in MEMORY_GRID}
    assert metrics_per_list(memory.votes(asked.inputs, from_settings(MemoryConfig, values)), asked).min() == 1


@pytest.mark.usefixtures("few_candidates")
def test_linear_part_alone_is_kept_where_the_memory_misleads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_search, "LINEAR_WEIGHTS", (0.01,))  # so that every mixture is nearly the memory
    corpus = pairs()
    found = find_parts(plan_of(corpus, **FEW_NEIGHBORS), corpus, Reporter())
    assert found.linear is not None
    assert (found.settings["memory_weight"], found.settings["linear_weight"]) == (0.0, 1.0)
    part = fit_linear(found.linear, corpus.flat("train"), plan_of(corpus))
    asked = evaluation_lists(corpus, "valid")
    assert metrics_per_list(part.scores(asked.inputs, found.settings["linear_decay"]), asked).mean() > 0.95


@pytest.mark.usefixtures("few_candidates")
def test_linear_part_joins_the_memory_if_it_helps() -> None:
    found = find_parts(plan_of(pairs(), **FEW_NEIGHBORS), pairs(), Reporter())
    assert found.linear is not None and found.settings["linear_weight"] > 0


@pytest.mark.usefixtures("few_candidates")
def test_too_few_lists_choose_no_linear_part() -> None:
    corpus = pairs()
    few = corpus_of([corpus.list(n).tolist() for n in range(FEWEST - 1)], corpus.vocabulary)
    found = find_parts(plan_of(few), few, Reporter())
    assert found.linear is None and found.settings["linear_weight"] == 0
    assert {name: found.settings[name] for name in MEMORY_GRID} == {
        name: plan_of(few).settings[name] for name in MEMORY_GRID
    }


@pytest.mark.usefixtures("few_candidates")
@pytest.mark.parametrize("given", [
    {"before": 0.9},
    {"sharpness": 2.5, "recency": 0.1},
    GIVEN_MEMORY | {"linear_decay": 7.0},
    GIVEN_MEMORY | {"memory_weight": 0.7, "linear_weight": 0.25},
    GIVEN_MEMORY | {"linear_weight": 0.25},
], ids=["before", "sharpness and recency", "decay", "both weights", "linear weight"])  # fmt: skip
def test_given_settings_stay(given: dict[str, float]) -> None:
    found = find_parts(plan_of(**given), WALKS, Reporter())
    for name, value in given.items():
        rows = [row for row in found.tried if name in row]
        assert rows and all(row[name] == value for row in rows)
        assert found.settings.get(name, value) == value


@pytest.mark.usefixtures("few_candidates")
def test_given_linear_weight_has_a_linear_part_even_if_it_does_not_help() -> None:
    corpus = sums()
    found = find_parts(plan_of(corpus, **GIVEN_MEMORY, linear_weight=0.25), corpus, Reporter())
    assert found.linear is not None and found.settings["linear_weight"] == 0.25


@pytest.mark.usefixtures("few_candidates")
def test_disabled_memory_is_not_searched() -> None:
    found = find_parts(plan_of(memory_weight=0.0), WALKS, Reporter())
    assert not found.settings.keys() & MEMORY_GRID.keys()
    assert found.tried and not any("sharpness" in row for row in found.tried)
    assert found.linear is not None and found.settings["memory_weight"] == 0


def test_disabled_linear_part_is_not_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_search, "fit_linear", None)
    found = find_parts(plan_of(**GIVEN_MEMORY, linear_weight=0.0), WALKS, Reporter())
    assert found.linear is None and found.settings["linear_weight"] == 0
    assert not any("linear" in row for row in found.tried)


def test_catalog_of_one_item_has_no_linear_part() -> None:
    corpus = corpus_of([[0, 0, 0]] * 20, vocabulary_of([1]))
    assert find_parts(plan_of(corpus), corpus, Reporter()).linear is None


@pytest.mark.parametrize("candidate", [SLIST, KNN], ids=["slist", "item-knn"])
def test_linear_part_is_the_model_of_that_name(candidate: tuple[str, dict[str, Any]]) -> None:
    part = fit_linear(candidate, WALKS.flat("train"), plan_of())
    model = build(candidate[0], {"category_starts": (0, 60), **candidate[1]})
    model.fit(*WALKS.flat("train"))
    asked = evaluation_lists(WALKS, "valid").inputs
    scores = model.score_next(asked).clamp(min=0)
    for row, given in zip(scores, asked, strict=True):
        row[torch.from_numpy(given)] = 0
    decay = model.config.input_decay if candidate[0] == "slist" else 1e9
    expected = scores / scores.amax(1, keepdim=True)
    torch.testing.assert_close(part.scores(asked, decay), expected, rtol=1e-3, atol=1e-5)


def test_linear_part_keeps_the_largest_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fit_linear(SLIST, WALKS.flat("train"), plan_of())
    assert whole.width == 59  # every other item
    monkeypatch.setattr(linear_search, "regression_width", lambda items: 7)
    some = fit_linear(SLIST, WALKS.flat("train"), plan_of())
    assert some.width == 7
    torch.testing.assert_close(some.weights.abs(), whole.weights.abs().topk(7).values)


def test_joined_folds_are_evaluated_in_the_order_of_their_scores() -> None:
    # The votes of a fold are for the lists of that fold: with one fold exchanged, the figures would be those of noise.
    folds = make_folds(WALKS, FOLDS)
    memories = [ListMemory.of(60, *fold.lists) for fold in folds]
    votes = linear_search._votes(memories, folds, GIVEN_MEMORY)
    assert votes.shape == (len(join(folds).inputs), 60)
    assert metrics_per_list(votes, join(folds)).mean() > 0.5


def test_order_matters_if_the_memory_is_better_with_it() -> None:
    unordered = {"sharpness": 3.0, "before": 1.0, "recency": 0.0, "near": 0.0, "aligned": 0.0}
    assert not order_matters(Parts(unordered, tried=[{}]))
    for name, value in {"before": 0.7, "recency": 0.3, "near": 0.5, "aligned": 1.0}.items():
        assert order_matters(Parts(unordered | {name: value}, tried=[{}]))
    assert order_matters(Parts({"linear_weight": 1.0}, tried=[{}]))  # no memory, so nobody knows
    assert order_matters(Parts(unordered))  # nothing was tried


def test_too_few_lists_decide_nothing() -> None:
    few = corpus_of([[0, 1, 2]] * (FEWEST - 1), vocabulary_of([3]), [0] * (FEWEST - 3) + [1] * 2)
    found = find_parts(make_plan("fans", {"recipe": "best", "linear_weight": 0.0}, few), few, Reporter())
    assert found.tried == [] and order_matters(found)
