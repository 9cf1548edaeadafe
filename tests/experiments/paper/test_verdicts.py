"""Verdicts on claims: said only where the lists can tell."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from experiments.paper.conftest import write_corpora
from fansrec.experiments.paper.catalogue import choose, experiments, systems
from fansrec.experiments.paper.cells import write_cell
from fansrec.experiments.paper.claims.quality import _lost, better, loss, ranks
from fansrec.experiments.paper.claims.speed import below, curve, faster, optimum, share
from fansrec.experiments.paper.claims.verdict import FAILS, HOLDS, UNTOLD, UNTRIED
from fansrec.experiments.paper.jobs import generated_timings, shares_timing, trained_timing
from fansrec.experiments.paper.results import METRICS, Latency, Results, ratio
from fansrec.experiments.paper.timings import RANDOM, TRAINED, write_timing

LISTS = 200
LEFT, RIGHT = "FANS_STEP", "FANS_NAIVE"
LOSS = {"text": "", "system": LEFT, "left_categories": 50, "right_categories": 10, "most": 0.012}
RULE: Mapping[str, Any] = {"text": "left is better", "left": [LEFT], "right": [RIGHT]}


@pytest.fixture
def choice():
    return choose(["table2", "table4"], ["sample"], [0, 1])


@pytest.fixture
def say(corpora, choice):
    """Writes the cells of a system as if every list had these values, in both seeds."""

    def write(system: str, values: np.ndarray, categories: int = 10) -> None:
        judged = {
            metric: {"mean": float(values.mean()), "lists": len(values), "values": values.tolist()}
            for metric in METRICS
        }
        for seed in choice.seeds:
            cell = corpora.cell("sample", categories, systems()[system], seed, choice)
            write_cell(cell, {"ways": {"own": {"paper": judged}, "recall": {"paper": judged}}, "seconds": {}})

    return write


def hits(share: float) -> np.ndarray:
    return (np.arange(LISTS) < share * LISTS).astype(float)


@pytest.mark.parametrize(
    ("left", "right", "verdict"), [(0.5, 0.1, HOLDS), (0.1, 0.5, FAILS), (0.5, 0.5, UNTOLD), (0.51, 0.5, UNTOLD)]
)
def test_better_holds_only_where_the_difference_is_no_luck(corpora, choice, say, left, right, verdict):
    say(LEFT, hits(left))
    say(RIGHT, hits(right))
    (found,) = better(RULE, experiments()["table2"], Results(choice, corpora))
    assert found.verdict == verdict
    assert f"HR@5 {left:.4f} / {right:.4f}" in found.evidence[0]


def test_a_claim_against_several_falls_with_one_of_them(corpora, choice, say):
    for name, part in ((LEFT, 0.5), (RIGHT, 0.1), ("SASRec", 0.9)):
        say(name, hits(part))
    rule = {**RULE, "right": [RIGHT, "SASRec"]}
    (found,) = better(rule, experiments()["table2"], Results(choice, corpora))
    assert found.verdict == FAILS


def test_a_claim_about_a_system_that_is_missing_is_not_tried(corpora, choice, say):
    say(LEFT, hits(0.5))
    (found,) = better(RULE, experiments()["table2"], Results(choice, corpora))
    assert found.verdict == UNTRIED


@pytest.mark.parametrize(("share", "verdict"), [(0.9, HOLDS), (0.1, FAILS)])
def test_ranks_hold_if_they_do_in_most_drawings(corpora, choice, say, share, verdict):
    say(LEFT, hits(share))
    say(RIGHT, hits(0.5))
    rule = {"text": "", "system": LEFT, "among": [RIGHT, LEFT], "best": 2, "second": 1}
    (found,) = ranks(rule, experiments()["table2"], Results(choice, corpora))
    assert found.verdict == verdict


@pytest.mark.parametrize(("value", "verdict"), [(0.0, FAILS), (np.nan, UNTRIED)])
def test_a_tie_counts_as_the_worse_rank_and_no_lists_as_nothing(corpora, choice, say, value, verdict):
    for name in (LEFT, RIGHT):
        say(name, np.full(LISTS, value))
    rule = {"text": "", "system": LEFT, "among": [RIGHT, LEFT], "best": 1, "second": 0}
    (found,) = ranks(rule, experiments()["table2"], Results(choice, corpora))
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        (hits(0.5), hits(0.5), HOLDS),
        (hits(0.2), hits(0.5), FAILS),
        (hits(0.5)[::-1], hits(0.5), UNTOLD),  # as good, but on other lists
        (hits(0.5), hits(0.0), UNTRIED),
        (hits(0.5), np.full(LISTS, np.nan), UNTRIED),
    ],
)
def test_a_loss_within_noise_cannot_be_told(corpora, choice, say, tmp_path, left, right, verdict):
    write_corpora(tmp_path, [50])
    say(LEFT, left, 50)
    say(LEFT, right, 10)
    (found,) = loss(LOSS, experiments()["industry"], Results(choice, corpora))
    assert found.verdict == verdict


def test_a_loss_of_what_is_missing_is_not_tried(corpora, choice, say):
    say(LEFT, hits(0.5))
    (found,) = loss(LOSS, experiments()["industry"], Results(choice, corpora))
    assert found.verdict == UNTRIED


def test_a_metric_without_a_reference_does_not_count_as_lost():
    assert _lost(np.array([[[0.1, 0.4], [0.0, 0.5]]])) == pytest.approx([0.2])


def test_ratios_are_over_the_lists_both_were_given():
    slow = Latency("BERT4Rec", 10, {1: 30.0, 2: 10.0}, "trained")
    fast = Latency(LEFT, 10, {2: 5.0, 1: 5.0, 3: 1000.0}, "trained")
    found = ratio(slow, fast)
    assert (found.value, found.lists) == (4.0, 2)


@pytest.fixture
def times(corpora, choice):
    """Writes how long systems took, as if all lists took alike."""

    def write(milliseconds: Mapping[str, float], weights: str = TRAINED) -> None:
        timing = trained_timing(experiments()["table2"], choice.datasets[0], choice, corpora)
        rows = [
            {"system": name, "categories": 10, "weights": weights, "lists": [0, 1], "ms": [value, value]}
            for name, value in milliseconds.items()
        ]
        write_timing(timing, "cpu", rows, 1.0)

    return write


@pytest.mark.parametrize(("times_as_long", "verdict"), [(2.4, HOLDS), (2.6, FAILS)])
def test_faster_asks_how_many_times(corpora, choice, times, times_as_long, verdict):
    times({LEFT: 4.0, "BERT4Rec": 10.0})
    rule = {"text": "", "left": [LEFT], "right": ["BERT4Rec"], "times": times_as_long}
    (found,) = faster(rule, experiments()["table2"], Results(choice, corpora))
    assert found.verdict == verdict


def test_times_with_random_weights_are_told_as_such(corpora, choice, times):
    rule = {"text": "", "left": [LEFT], "right": ["BERT4Rec"], "times": 2, "systems": [LEFT], "ms": 50}
    for weights in (TRAINED, RANDOM):
        times({LEFT: 4.0, "BERT4Rec": 10.0}, weights)
        for tried in (faster, below):
            (found,) = tried(rule, experiments()["table2"], Results(choice, corpora))
            assert ("weights drawn at random" in found.evidence[0]) == (weights == RANDOM)


@pytest.mark.parametrize(("value", "verdict"), [(49.0, HOLDS), (51.0, FAILS)])
def test_real_time_is_below_the_limit(corpora, choice, times, value, verdict):
    times({LEFT: value})
    rule = {"text": "", "systems": [LEFT], "ms": 50}
    (found,) = below(rule, experiments()["table2"], Results(choice, corpora))
    assert found.verdict == verdict


def test_the_best_number_of_categories_is_looked_for_at_every_size(corpora, choice):
    lowest = {"aotm": 10, "zhihu": 20, "goodreads": 20, "spotify": 100}
    for timing in generated_timings(experiments()["table4"], corpora):
        best = lowest[timing.key["workload"]]
        rows = [
            {"model": "fans", "categories": n, "mean_ms": 1.0 + abs(np.log(n / best)), "speedup": 1.0}
            for n in (1, 10, 20, 100, 250)
        ]
        write_timing(timing, "cpu", rows, 1.0)
    results = Results(choice, corpora)
    (found,) = optimum({"text": ""}, experiments()["table4"], results)
    assert found.verdict == HOLDS and "M = 104,695: N = 100" in found.evidence[0]
    curves = list(curve({"text": "", "system": LEFT}, experiments()["table4"], results))
    assert len(curves) == 4 and {one.verdict for one in curves} == {HOLDS}


def test_two_points_are_no_curve(corpora, choice):
    timing = generated_timings(experiments()["table4"], corpora)[0]
    write_timing(timing, "cpu", [{"model": "fans", "categories": n, "mean_ms": 1.0} for n in (1, 10)], 1.0)
    (found,) = curve({"text": "", "system": LEFT}, experiments()["table4"], Results(choice, corpora))
    assert found.verdict == UNTRIED


@pytest.mark.parametrize(("classifier", "verdict"), [(6.0, HOLDS), (4.0, FAILS)])
def test_the_vanilla_classifiers_share_is_that_with_the_most_layers(corpora, choice, classifier, verdict):
    rows = [
        {"classifier": "vanilla", "layers": 1, "encoder_ms": 5.0, "classifier_ms": 5.0},
        {"classifier": "vanilla", "layers": 12, "encoder_ms": 5.0, "classifier_ms": classifier},
        {"classifier": "two-stage", "layers": 12, "encoder_ms": 5.0, "classifier_ms": 5.0},
    ]
    write_timing(shares_timing(experiments()["fig-time"], corpora), "cpu", rows, 1.0)
    (found,) = share({"text": "", "least": 0.5}, experiments()["fig-time"], Results(choice, corpora))
    assert found.verdict == verdict and "with 12 layers" in found.evidence[0]
