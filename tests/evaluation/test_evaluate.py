"""Runs evaluated and compared in Python."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fansrec
from fansrec.data.corpus import Corpus
from fansrec.errors import BadSetting
from fansrec.evaluation.evaluate import run_names
from fansrec.evaluation.protocol import protocol
from fansrec.evaluation.rows import Row, measure_run, open_run


@pytest.fixture(scope="module")
def rows(world: Path, corpus: Corpus) -> list[Row]:
    runs = [world / "popularity", world / "fans"]
    return fansrec.evaluate(runs, corpus, at=(1, 20), by="recall@20", part="train", given=[1])


def test_rows_are_sorted_by_protocol_and_quality(rows: list[Row]) -> None:
    usual = [row for row in rows if row["given"] is None]
    assert [row["protocol"] for row in usual] == ["standard", "standard", "paper", "paper"]
    for best, other in (usual[:2], usual[2:]):
        assert (best["place"], other["place"]) == (1, 2)
        assert (best["recall@20"] or 0) >= (other["recall@20"] or 0)
        assert best["best"] == other["best"] == best["run"]


def test_short_inputs_follow_the_row_of_their_run(rows: list[Row]) -> None:
    for usual, short in zip(rows[::2], rows[1::2], strict=True):
        assert (usual["given"], short["given"]) == (None, 1)
        assert (usual["run"], usual["protocol"]) == (short["run"], short["protocol"])
        assert short["breakdown"] == short["examples"] == [] and short["place"] is None


def test_metrics_at_5_and_10_are_always_there(rows: list[Row]) -> None:
    for row in rows:
        assert row["at"] == [1, 20]
        for n in (1, 5, 10, 20):
            for name in ("NDCG", "HR", "recall", "precision", "MAP", "MRR", "novelty"):
                assert f"{name}@{n}" in row and f"{name}@{n}_ci" in row
            assert f"lists@{n}" in row


def test_positions_above_ten_request_that_many_items(rows: list[Row]) -> None:
    standard, paper = rows[0], rows[4]
    assert (standard["masks"], paper["masks"]) == ("20", "target")
    assert max(len(example["answer"]) for example in standard["examples"]) == 20


def test_differences_are_those_from_the_best_run_list_by_list(world: Path, corpus: Corpus, rows: list[Row]) -> None:
    best, other = rows[0], rows[2]
    assert best["differences"] == {}
    values = []
    for row in (other, best):
        run = open_run(world / row["run"], corpus)
        measured = measure_run(run, corpus, protocol("standard", most=20), "train", at=(1, 20), timed=False)
        values.append(measured.metrics["recall@20"])
    found = other["differences"]["recall@20"]
    assert found["difference"] == pytest.approx(np.mean(values[0] - values[1]))
    assert found["interval"][0] <= found["difference"] <= found["interval"][1]
    assert other["significantly_worse"] == (found["interval"][1] < 0)
    assert ("significantly better" in best["verdict"]) == other["significantly_worse"]


def test_groups_of_the_breakdown_cover_all_lists(rows: list[Row]) -> None:
    lengths = [group for group in rows[0]["breakdown"] if group["by"] == "items of the input"]
    assert sum(group["lists"] for group in lengths) == rows[0]["lists"]
    mean = sum(group["lists"] * group["recall@20"] for group in lengths) / rows[0]["lists"]
    assert mean == pytest.approx(rows[0]["recall@20"])


def test_all_runs_have_the_same_examples(rows: list[Row]) -> None:
    first, second = rows[0]["examples"], rows[2]["examples"]
    assert len(first) == 3
    assert [(one["list"], one["target"]) for one in first] == [(one["list"], one["target"]) for one in second]


def test_rows_are_standard_json(rows: list[Row]) -> None:
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_one_run_is_not_compared(world: Path) -> None:
    (row,) = fansrec.evaluate(str(world / "popularity"), world / "corpus", protocol="standard", examples=0)
    assert (row["place"], row["compared"], row["differences"], row["examples"]) == (1, 0, {}, [])
    assert "nothing to compare" in row["verdict"]


def test_metric_that_no_list_counts_for_decides_nothing(world: Path) -> None:
    runs = [world / "popularity-short"]
    (row,) = fansrec.evaluate(runs, world / "short", protocol="paper", by="NDCG@10")
    assert row["verdict"] == "no list counts for NDCG@10"
    json.dumps(row, allow_nan=False)


def test_report_is_written(world: Path, tmp_path: Path) -> None:
    fansrec.evaluate([world / "popularity"], world / "corpus", html=tmp_path / "report.html")
    assert "Accuracy, protocol standard" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_progress_is_reported(world: Path) -> None:
    reported: list[tuple[str, int, int]] = []
    fansrec.evaluate(
        [world / "popularity"], world / "corpus", protocol="standard", progress=lambda *now: reported.append(now)
    )
    assert reported == [("popularity, standard", 12, 12)]


def test_runs_with_equal_names_are_told_apart() -> None:
    assert [*run_names(["a/fans", "b/fans"])] == ["a/fans", "b/fans"]
    assert [*run_names(["a/fans", "b/ease"])] == ["fans", "ease"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runs": []}, "there are no runs"),
        ({"runs": ["popularity", "popularity"]}, "is given twice"),
        ({"at": []}, "at has no positions; give at least one"),
        ({"at": 0}, "at 0 is not an integer of at least 1"),
        ({"at": [2.5]}, "at 2.5 is not an integer of at least 1"),
        ({"given": [0]}, "given 0 is not an integer of at least 1"),
        ({"examples": -1}, "examples -1 is not an integer of at least 0"),
        ({"by": "novelty@5"}, "by 'novelty@5' is not a metric to compare by; choose one of NDCG@5, HR@5"),
        ({"by": "NDCG@20"}, "by 'NDCG@20' is not a metric to compare by"),
        ({"at": [20], "masks": "10"}, "masks 10 requests too few items for metrics at 20"),
        ({"masks": "12"}, "masks is '12'; it can be target or 10"),
        ({"part": "foo"}, "^part is 'foo'; it must be train, valid or test$"),
        ({"protocol": "mine"}, "there is no protocol 'mine'; choose paper or standard"),
    ],
)
def test_invalid_options_are_refused_before_the_work(world: Path, options: dict[str, Any], message: str) -> None:
    runs = [world / run for run in options.pop("runs", ["popularity"])]
    with pytest.raises(BadSetting, match=message):
        fansrec.evaluate(runs, world / "no-corpus", **options)
