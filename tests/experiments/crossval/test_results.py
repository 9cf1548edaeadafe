import json
from typing import Any

import numpy as np
import pytest

from fansrec.errors import Unfinished
from fansrec.evaluation.rows import Row
from fansrec.experiments.crossval.cells import Content
from fansrec.experiments.crossval.report import markdown, write_result
from fansrec.experiments.crossval.results import METRICS, Finished, gather, paired_rows, result, values_table
from fansrec.experiments.crossval.train_cell import WAYS, train_cell
from fansrec.experiments.crossval.work import Choice

VARIETY = [f"{name}@10{which}" for name in ("coverage", "categories", "popularity", "coherence") for which in ("", "_matched", "_real")]  # fmt: skip # noqa: E501


def content(fold: int, seed: int, values: dict[int, float | None], exact: float = 1.0) -> Content:
    """A cell in which all figures of a list are the same."""
    counts = {"pairs": 4, "in_order": 3, "positions": 5, "exact": exact, "exact_shuffled": 1.0}
    counts |= {"steps": 4, "adjacent": 2, "adjacent_shuffled": 0.5}
    row = dict.fromkeys([*VARIETY, "latency_ms"], 0.5 + fold)
    way = {
        "row": row,
        "values": {metric: list(values.values()) for metric in METRICS},
        "order": {name: [count] * len(values) for name, count in counts.items()},
    }
    chosen: dict[str, Any] = {"config": {"width": 8}}
    names = {"fold": fold, "seed": seed, "seconds": {"training": 2.0 * seed}, "chosen": chosen}
    return {**names, "lists": list(values), "ways": dict.fromkeys(WAYS, way)}


def finished(name: str, *cells: Content) -> Finished:
    return Finished(name, list(cells), len(cells))


def row_of(rows: list[Row], **wanted: str) -> Row:
    (found,) = [row for row in rows if wanted.items() <= row.items()]
    return found


def test_a_mean_is_over_all_lists_of_all_folds_and_not_over_folds() -> None:
    found = result([finished("a", content(0, 0, {4: 0.0}), content(1, 0, {0: 1.0, 2: 1.0, 3: 1.0}))])
    row = row_of(found["figures"], way="k fixed", metric="NDCG@5")
    assert (row["mean"], row["lists"], row["folds"]) == (0.75, 4, {"0": 0.0, "1": 1.0})
    assert found["paired"] == []


def test_seeds_are_averaged_before_lists_are() -> None:
    one = finished("a", content(0, 0, {0: 0.0, 1: 0.5}), content(0, 1, {0: 1.0, 1: 0.5}))
    assert values_table([one])[0, 0, 0].tolist() == [0.5, 0.5]
    row = row_of(result([one])["figures"], way="k known", metric="HR@10")
    assert (row["lists"], row["mean"], row["interval"]) == (2, 0.5, [0.5, 0.5])  # no list differs, so none is luck


def test_pairs_of_lists_have_a_narrower_interval_than_the_figures() -> None:
    """Ours is better by 0.1 on every list, however much the lists differ: no drawing of lists changes that."""
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


def test_the_paired_interval_of_two_lists_is_that_of_all_drawings() -> None:
    """Differences 1 and 0: two lists drawn give 0, 1/2 or 1 with chances 1/4, 1/2, 1/4, so 95% reach from 0 to 1."""
    table = np.broadcast_to(np.array([[1.0, 0.5], [0.0, 0.5]])[:, None, None], (2, 2, 4, 2))
    pair = row_of(paired_rows(["a", "b"], table), way="k known", metric="NDCG@10")
    assert (pair["difference"], pair["interval"], pair["lists"]) == (0.5, [0.0, 1.0], 2)
    assert pair["percent"] == 200


def test_only_lists_that_both_were_tested_on_are_paired() -> None:
    ours = finished("ours", content(0, 0, {0: 0.5, 1: None}), content(1, 0, {2: 1.0}))
    theirs = finished("theirs", content(0, 0, {0: 0.25, 1: None}))
    found = result([ours, theirs])
    pair = row_of(found["paired"], way="k fixed", metric="HR@5")
    assert (pair["difference"], pair["percent"], pair["lists"]) == (0.25, 100, 1)
    assert row_of(found["figures"], system="ours", way="k fixed", metric="HR@5")["lists"] == 2


def test_an_order_worth_no_more_than_a_shuffled_one_gains_nothing() -> None:
    found = result(
        [finished("a", content(0, 0, {0: 0.5, 1: 0.5})), finished("b", content(0, 0, {0: 0.5, 1: 0.5}, exact=3))]
    )
    none, some = (row_of(found["order"], system=system, way="k fixed") for system in "ab")
    assert (none["exact"], none["exact_shuffled"], none["exact_gain"], none["exact_gain_ci"]) == (0.2, 0.2, 0, [0, 0])
    assert some["exact_gain"] == pytest.approx(0.4)
    assert (none["order"], none["adjacent_gain"]) == (0.75, 1.5 / 4)


def test_variety_and_times_are_means_over_cells() -> None:
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


def test_without_a_finished_cell_there_is_nothing_to_report(choice: Choice) -> None:
    with pytest.raises(Unfinished, match="nothing to report"):
        gather(choice.cells())


def test_a_result_is_plain_json_and_a_table_even_if_a_system_has_no_cell_yet(choice: Choice) -> None:
    cells = choice.cells()
    train_cell(cells[0], keep=False)
    path = choice.folder / "result.json"
    found = write_result(choice, path)
    json.loads(path.read_text(), parse_constant=pytest.fail)
    assert [(row["cells"], row["of"]) for row in found["systems"]] == [(1, 3), (0, 3)]
    text = path.with_suffix(".md").read_text()
    assert text == markdown(found) and "| popularity:paper" in text
    empty = row_of(found["figures"], system="ease:paper", way="k fixed", metric="NDCG@5")
    assert (empty["mean"], empty["interval"], empty["lists"], empty["folds"]) == (None, None, 0, {})
