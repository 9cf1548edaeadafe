import numpy as np
import pytest

from fansrec.engine.backends import FAST
from fansrec.errors import BadSetting
from fansrec.experiments.speed.arms import Systems
from fansrec.experiments.speed.latency import compare_generation_modes, latency
from fansrec.experiments.speed.options import LatencyOptions
from fansrec.experiments.speed.rows import Row
from fansrec.experiments.speed.workloads import questions_of

KEYS = {
    *("workload", "arm", "model", "variant", "backend", "device", "batch", "items", "categories", "length", "k"),
    *("p50_ms", "p50_low_ms", "p50_high_ms", "p99_ms", "repeats", "lists_per_s", "lists", "same_items"),
    *("times_authors", "times_authors_lists", "times_bert4rec", "times_bert4rec_over_k", "times_paper"),
}


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return latency(LatencyOptions("aotm", items=200, categories=(1, 4), lists=3, seconds=2, repeats=2))


def test_every_row_has_all_columns(rows: list[Row]) -> None:
    assert all(row.keys() >= KEYS for row in rows)


def test_all_arms_and_models_are_measured(rows: list[Row]) -> None:
    found = {(row["arm"], row["model"], row["variant"], row["categories"]) for row in rows}
    assert found >= {
        ("authors", "bert4rec", "paper", 1),
        ("autoregressive", "bert4rec", "paper", 1),
        ("autoregressive", "sasrec", "paper", 1),
        *((arm, "fans", "paper", count) for arm in ("authors", "eager", "ours") for count in (1, 4)),
        ("eager", "fans", "best", 4),
        ("ours", "fans", "best", 4),
        ("linear", "ease", "paper", 1),
        ("linear", "item-knn", "paper", 1),
    }


def test_systems_with_the_same_weights_give_the_same_items(rows: list[Row]) -> None:
    compared = [row for row in rows if row["same_items"] is not None]
    assert {row["arm"] for row in compared} >= {"authors", "ours"}
    assert all(row["same_or_tied_items"] == 1 and row["same_items_of"] > 0 for row in compared)


def test_rows_say_which_sizes_were_measured(rows: list[Row]) -> None:
    questions = questions_of("aotm", 200, 3, seed=0)
    complete = [row for row in rows if row["lists"] == 3]
    for row in complete:
        assert row["k"] == pytest.approx(np.mean([question.k for question in questions]))
        assert row["length"] == pytest.approx(np.mean([len(question.input) + question.k for question in questions]))
    assert all(0 < row["p50_low_ms"] <= row["p50_ms"] <= row["p50_high_ms"] for row in rows)
    # The p99 of a single list is interpolated between its two repeats, so it is below the slower one.
    assert all(row["p50_high_ms"] <= row["p99_ms"] for row in complete)


def test_only_requested_arms_are_measured() -> None:
    rows = latency(LatencyOptions("aotm", items=60, categories=(3,), arms=("linear", "eager"), lists=1, seconds=0))
    assert {row["arm"] for row in rows} == {"linear", "eager"}


def test_fallback_to_torch_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FAST, "cpu", "cuda")  # a backend that cannot run there
    said: list[str] = []
    rows = latency(
        LatencyOptions("aotm", items=60, categories=(3, 4), arms=("ours",), lists=1, seconds=0), say=said.append
    )
    assert all(row["backend"] == "torch" for row in rows)
    assert said and len(said) == len(set(said)) and all(line.endswith("fans runs on torch") for line in said)


def test_longest_list_is_that_of_the_workload_not_of_the_sample() -> None:
    assert Systems("spotify", 100, "cpu").longest == 303


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arms": ("theirs",)}, "there is no arm 'theirs'"),
        ({"categories": (10_000,)}, "more than the 6,264 items"),
        ({"lists": 0}, "at least 1"),
        ({"items": 0}, "at least 1"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(BadSetting, match=message):
        LatencyOptions("aotm", **options)  # type: ignore[arg-type]


def test_every_system_has_a_row_with_a_speedup_over_bert4rec() -> None:
    rows = compare_generation_modes(300, [1, 4, 20], 3, "cpu", workload="aotm", seconds=1)
    assert [(row["arm"], row["model"], row["categories"]) for row in rows] == [
        ("autoregressive", "bert4rec", 1),
        ("autoregressive", "sasrec", 1),
        ("autoregressive", "gru4rec", 1),
        ("eager", "fans", 1),
        ("eager", "fans", 4),
        ("eager", "fans", 20),
    ]
    assert rows[0]["speedup"] == 1
    assert all(row["speedup"] > 0 and row["speedup_lists"] > 0 and row["mean_ms"] > 0 for row in rows)
    assert all(row["backend"] == "torch" for row in rows)
