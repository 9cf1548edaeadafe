"""Verdicts on claims: decided only where the test lists are sufficient evidence."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from experiments.paper.conftest import write_corpora
from fansrec.experiments.cells import write_cell
from fansrec.experiments.paper.catalogue import experiments, select
from fansrec.experiments.paper.claims.quality import better, loss, ranks, relative_loss
from fansrec.experiments.paper.claims.speed import below, curve, faster, optimum, share
from fansrec.experiments.paper.claims.verdict import FAILS, HOLDS, UNDECIDED, UNTESTED
from fansrec.experiments.paper.results import METRICS, Latency, Results, ratio
from fansrec.experiments.paper.timings import (
    RANDOM,
    TRAINED,
    generated_timings,
    shares_timing,
    trained_timing,
    write_timing,
)

LISTS = 200
LEFT, RIGHT = "FANS_STEP", "FANS_NAIVE"
LOSS = {"system": LEFT, "left_categories": 50, "right_categories": 10, "most": 0.012}
TWO_SYSTEMS = replace(experiments()["table2"], extra={"systems": [RIGHT, LEFT]})
RULE: Mapping[str, Any] = {"left": [LEFT], "right": [RIGHT]}


@pytest.fixture
def selection():
    return select(["table2", "table4"], ["sample"], [0, 1])


@pytest.fixture
def write_values(corpora, selection):
    """Writes the cells of a system as if every list had these values, with both seeds."""

    def write(system: str, values: np.ndarray, categories: int = 10) -> None:
        counted = [value for value in values.tolist() if not np.isnan(value)]
        mean = sum(counted) / len(counted) if counted else None
        row = dict.fromkeys(METRICS, mean) | {"lists@5": len(counted), "lists@10": len(counted)}
        per_list = [None if np.isnan(value) else value for value in values.tolist()]
        evaluation = {"row": row, "values": dict.fromkeys(METRICS, per_list)}
        for cell in corpora.cells("sample", categories, system, selection):
            write_cell(cell, {"evaluations": dict.fromkeys(cell.evaluations, evaluation), "seconds": {}})

    return write


def hits(share: float) -> np.ndarray:
    return (np.arange(LISTS) < share * LISTS).astype(float)


@pytest.mark.parametrize(
    ("left", "right", "verdict"), [(0.5, 0.1, HOLDS), (0.1, 0.5, FAILS), (0.5, 0.5, UNDECIDED), (0.51, 0.5, UNDECIDED)]
)
def test_better_needs_a_significant_difference(corpora, selection, write_values, left, right, verdict):
    write_values(LEFT, hits(left))
    write_values(RIGHT, hits(right))
    (found,) = better(RULE, experiments()["table2"], Results(selection, corpora))
    assert found.verdict == verdict
    assert f"HR@5 {left:.4f} / {right:.4f}" in found.evidence[0]


def test_claim_about_several_systems_fails_if_one_is_better(corpora, selection, write_values):
    for name, part in ((LEFT, 0.5), (RIGHT, 0.1), ("SASRec", 0.9)):
        write_values(name, hits(part))
    rule = {**RULE, "right": [RIGHT, "SASRec"]}
    (found,) = better(rule, experiments()["table2"], Results(selection, corpora))
    assert found.verdict == FAILS


def test_claim_about_a_missing_system_is_not_tested(corpora, selection, write_values):
    write_values(LEFT, hits(0.5))
    (found,) = better(RULE, experiments()["table2"], Results(selection, corpora))
    assert found.verdict == UNTESTED


@pytest.mark.parametrize(("share", "verdict"), [(0.9, HOLDS), (0.1, FAILS)])
def test_ranks_hold_if_they_do_in_most_resamples(corpora, selection, write_values, share, verdict):
    write_values(LEFT, hits(share))
    write_values(RIGHT, hits(0.5))
    rule = {"system": LEFT, "best": 2, "second": 1}
    (found,) = ranks(
        rule, replace(experiments()["table2"], extra={"systems": [RIGHT, LEFT]}), Results(selection, corpora)
    )
    assert found.verdict == verdict


@pytest.mark.parametrize(("value", "verdict"), [(0.0, FAILS), (np.nan, UNTESTED)])
def test_tie_counts_as_the_worse_rank_and_no_lists_as_untested(corpora, selection, write_values, value, verdict):
    for name in (LEFT, RIGHT):
        write_values(name, np.full(LISTS, value))
    rule = {"system": LEFT, "best": 1, "second": 0}
    (found,) = ranks(
        rule, replace(experiments()["table2"], extra={"systems": [RIGHT, LEFT]}), Results(selection, corpora)
    )
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        (hits(0.5), hits(0.5), HOLDS),
        (hits(0.2), hits(0.5), FAILS),
        (hits(0.5)[::-1], hits(0.5), UNDECIDED),  # equally good, but on other lists
        (hits(0.5), hits(0.0), UNTESTED),
        (hits(0.5), np.full(LISTS, np.nan), UNTESTED),
    ],
)
def test_loss_within_noise_is_undecided(corpora, selection, write_values, tmp_path, left, right, verdict):
    write_corpora(tmp_path, [50])
    write_values(LEFT, left, 50)
    write_values(LEFT, right, 10)
    (found,) = loss(LOSS, experiments()["industry"], Results(selection, corpora))
    assert found.verdict == verdict


def test_loss_of_a_missing_system_is_not_tested(corpora, selection, write_values):
    write_values(LEFT, hits(0.5))
    (found,) = loss(LOSS, experiments()["industry"], Results(selection, corpora))
    assert found.verdict == UNTESTED


def test_metric_without_a_reference_is_left_out_of_the_loss():
    assert relative_loss(np.array([[[0.1, 0.4], [0.0, 0.5]]])) == pytest.approx([0.2])


def test_ratios_are_over_common_lists():
    slow = Latency({1: 30.0, 2: 10.0}, "trained")
    fast = Latency({2: 5.0, 1: 5.0, 3: 1000.0}, "trained")
    assert ratio(slow, fast)[0] == 4.0


@pytest.fixture
def times(corpora, selection):
    """Writes the times of systems, as if all lists took the same time."""

    def write(milliseconds: Mapping[str, float], weights: str = TRAINED) -> None:
        (timing,) = trained_timing(experiments()["table2"], selection.datasets[0], selection, corpora)
        rows = [
            {"system": name, "categories": 10, "weights": weights, "lists": [0, 1], "ms": [value, value]}
            for name, value in milliseconds.items()
        ]
        write_timing(timing, "cpu", rows, 1.0)

    return write


@pytest.mark.parametrize(("times_as_long", "verdict"), [(2.4, HOLDS), (2.6, FAILS)])
def test_faster_compares_the_ratio_of_times(corpora, selection, times, times_as_long, verdict):
    times({LEFT: 4.0, "BERT4Rec": 10.0})
    rule = {"left": [LEFT], "right": ["BERT4Rec"], "times": times_as_long}
    (found,) = faster(rule, experiments()["table2"], Results(selection, corpora))
    assert found.verdict == verdict


def test_evidence_mentions_random_weights(corpora, selection, times):
    rule = {"left": [LEFT], "right": ["BERT4Rec"], "times": 2, "systems": [LEFT], "ms": 50}
    for weights in (TRAINED, RANDOM):
        times({LEFT: 4.0, "BERT4Rec": 10.0}, weights)
        for test in (faster, below):
            (found,) = test(rule, experiments()["table2"], Results(selection, corpora))
            assert ("weights drawn at random" in found.evidence[0]) == (weights == RANDOM)


@pytest.mark.parametrize(("value", "verdict"), [(49.0, HOLDS), (51.0, FAILS)])
def test_below_compares_with_the_limit(corpora, selection, times, value, verdict):
    times({LEFT: value})
    rule = {"systems": [LEFT], "ms": 50}
    (found,) = below(rule, experiments()["table2"], Results(selection, corpora))
    assert found.verdict == verdict


def test_optimum_and_curve_use_the_generated_sizes(corpora, selection):
    lowest = {"aotm": 10, "zhihu": 20, "goodreads": 20, "spotify": 100}
    for timing in generated_timings(experiments()["table4"], corpora):
        best = lowest[timing.key["workload"]]
        rows = [
            {"model": "fans", "categories": n, "mean_ms": 1.0 + abs(np.log(n / best)), "speedup": 1.0}
            for n in (1, 10, 20, 100, 250)
        ]
        write_timing(timing, "cpu", rows, 1.0)
    results = Results(selection, corpora)
    (found,) = optimum({}, experiments()["table4"], results)
    assert found.verdict == HOLDS and "M = 104,695: N = 100" in found.evidence[0]
    curves = list(curve({"system": LEFT}, experiments()["table4"], results))
    assert len(curves) == 4 and {one.verdict for one in curves} == {HOLDS}


def test_curve_with_two_points_is_not_tested(corpora, selection):
    timing = next(generated_timings(experiments()["table4"], corpora))
    write_timing(timing, "cpu", [{"model": "fans", "categories": n, "mean_ms": 1.0} for n in (1, 10)], 1.0)
    (found,) = curve({"system": LEFT}, experiments()["table4"], Results(selection, corpora))
    assert found.verdict == UNTESTED


@pytest.mark.parametrize(("classifier", "verdict"), [(6.0, HOLDS), (4.0, FAILS)])
def test_share_is_that_of_the_vanilla_classifier_with_the_most_layers(corpora, selection, classifier, verdict):
    rows = [
        {"classifier": "vanilla", "layers": 1, "encoder_ms": 5.0, "classifier_ms": 5.0},
        {"classifier": "vanilla", "layers": 12, "encoder_ms": 5.0, "classifier_ms": classifier},
        {"classifier": "two-stage", "layers": 12, "encoder_ms": 5.0, "classifier_ms": 5.0},
    ]
    (timing,) = shares_timing(experiments()["fig-time"], corpora)
    write_timing(timing, "cpu", rows, 1.0)
    (found,) = share({"least": 0.5}, experiments()["fig-time"], Results(selection, corpora))
    assert found.verdict == verdict and "with 12 layers" in found.evidence[0]
