import json
from typing import Any

import numpy as np
import pytest

from fansrec.errors import Unfinished
from fansrec.evaluation.rows import Row
from fansrec.experiments.cells import Content
from fansrec.experiments.crossval.cross_validation import EVALUATIONS, CrossValidation
from fansrec.experiments.crossval.report import markdown, write_result
from fansrec.experiments.crossval.results import (
    METRICS,
    VARIETY,
    Finished,
    paired_rows,
    read_finished,
    result,
    values_table,
)
from fansrec.experiments.run_cell import run_cell


def content(fold: int, seed: int, values: dict[int, float | None], exact: float = 1.0) -> Content:
    """Return the content of a cell in which all metrics of a list have the same value."""
    counts = {"pairs": 4, "in_order": 3, "positions": 5, "exact": exact, "exact_shuffled": 1.0}
    counts |= {"steps": 4, "adjacent": 2, "adjacent_shuffled": 0.5}
    row = dict.fromkeys([*VARIETY, "latency_ms"], 0.5 + fold)
    evaluation = {
        "row": row,
        "values": {metric: list(values.values()) for metric in METRICS},
        "order": {name: [count] * len(values) for name, count in counts.items()},
    }
    trained: dict[str, Any] = {"config": {"width": 8}}
    names = {"fold": fold, "seed": seed, "seconds": {"training": 2.0 * seed}, "trained": trained}
    return {**names, "lists": list(values), "evaluations": dict.fromkeys(EVALUATIONS, evaluation)}


def finished(name: str, *cells: Content) -> Finished:
    return Finished(name, list(cells), len(cells))


def row_of(rows: list[Row], **fields: str) -> Row:
    (found,) = [row for row in rows if fields.items() <= row.items()]
    return found


def test_mean_is_over_lists_not_over_folds() -> None:
    found = result([finished("a", content(0, 0, {4: 0.0}), content(1, 0, {0: 1.0, 2: 1.0, 3: 1.0}))])
    row = row_of(found["figures"], way="k fixed", metric="NDCG@5")
    assert (row["mean"], row["lists"], row["folds"]) == (0.75, 4, {"0": 0.0, "1": 1.0})
    assert found["paired"] == []


def test_seeds_are_averaged_before_lists() -> None:
    one = finished("a", content(0, 0, {0: 0.0, 1: 0.5}), content(0, 1, {0: 1.0, 1: 0.5}))
    assert values_table([one])[0, 0, 0].tolist() == [0.5, 0.5]
    row = row_of(result([one])["figures"], way="k known", metric="HR@10")
    assert (row["lists"], row["mean"], row["interval"]) == (2, 0.5, [0.5, 0.5])  # all lists have the same value


def test_paired_interval_is_narrower_than_that_of_a_mean() -> None:
    """Ours is better by 0.1 on every list, so every resample of the lists gives 0.1."""
    random = np.random.default_rng(0)
    theirs = {number: float(value) for number, value in enumerate(random.random(50))}
    ours = {number: value + 0.1 for number, value in theirs.items()}
    found = result([finished("ours", content(0, 0, ours)), finished("theirs", content(0, 0, theirs))])
    pair = row_of(found["paired"], rival="theirs", way="k fixed", metric="NDCG@5")
    assert pair["difference"] == pytest.approx(0.1) and pair["interval"] == pytest.approx([0.1, 0.1])
    mean = sum(theirs.values()) / 50
    assert pair["percent"] == pytest.approx(10 / mean)
    assert pair["percent_interval"][0] < pair["percent"] < pair["percent_interval"][1]
    low, high = row_of(found["figures"], system="ours", way="k fixed", metric="NDCG@5")["interval"]
    assert high - low > 0.1


def test_paired_interval_of_two_lists() -> None:
    """Resamples of the differences 1 and 0 are 0, 1/2 or 1 with probability 1/4, 1/2, 1/4: 95% are in [0, 1]."""
    table = np.broadcast_to(np.array([[1.0, 0.5], [0.0, 0.5]])[:, None, None], (2, 2, 4, 2))
    pair = row_of(paired_rows(["a", "b"], table), way="k known", metric="NDCG@10")
    assert (pair["difference"], pair["interval"], pair["lists"]) == (0.5, [0.0, 1.0], 2)
    assert pair["percent"] == 200


def test_only_common_lists_are_paired() -> None:
    ours = finished("ours", content(0, 0, {0: 0.5, 1: None}), content(1, 0, {2: 1.0}))
    theirs = finished("theirs", content(0, 0, {0: 0.25, 1: None}))
    found = result([ours, theirs])
    pair = row_of(found["paired"], way="k fixed", metric="HR@5")
    assert (pair["difference"], pair["percent"], pair["lists"]) == (0.25, 100, 1)
    assert row_of(found["figures"], system="ours", way="k fixed", metric="HR@5")["lists"] == 2


def test_order_as_good_as_a_shuffled_one_has_no_gain() -> None:
    found = result(
        [finished("a", content(0, 0, {0: 0.5, 1: 0.5})), finished("b", content(0, 0, {0: 0.5, 1: 0.5}, exact=3))]
    )
    none, some = (row_of(found["order"], system=system, way="k fixed") for system in "ab")
    assert (none["exact"], none["exact_shuffled"], none["exact_gain"], none["exact_gain_ci"]) == (0.2, 0.2, 0, [0, 0])
    assert some["exact_gain"] == pytest.approx(0.4)
    assert (none["order"], none["adjacent_gain"]) == (0.75, 1.5 / 4)


def test_variety_and_times_are_averaged_over_cells() -> None:
    found = result([finished("a", content(0, 0, {0: 0.5}), content(1, 1, {1: 0.5}))])
    assert row_of(found["variety"], way="k fixed")["coverage@10"] == 1.0
    assert found["systems"] == [
        {
            "system": "a",
            "cells": 2,
            "of": 2,
            "training_seconds": 1.0,
            "chosen": [{"fold": 0, "seed": 0, "width": 8}, {"fold": 1, "seed": 1, "width": 8}],
        }
    ]


def test_report_without_finished_cells_is_refused(validation: CrossValidation) -> None:
    with pytest.raises(Unfinished, match="nothing to report"):
        read_finished(validation.cells())


def test_result_is_plain_json_and_markdown_with_unfinished_systems(validation: CrossValidation) -> None:
    cells = validation.cells()
    run_cell(cells[0], keep=False)
    path = validation.folder / "result.json"
    found = write_result(validation, path)
    json.loads(path.read_text(), parse_constant=pytest.fail)
    assert [(row["cells"], row["of"]) for row in found["systems"]] == [(1, 3), (0, 3)]
    text = path.with_suffix(".md").read_text()
    assert text == markdown(found) and "| popularity:paper" in text
    empty = row_of(found["figures"], system="ease:paper", way="k fixed", metric="NDCG@5")
    assert (empty["mean"], empty["interval"], empty["lists"], empty["folds"]) == (None, None, 0, {})
