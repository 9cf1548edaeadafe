from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from fansrec.bench import latency
from fansrec.bench.latency import Row, one_by_one_against_one_pass, random_engine
from fansrec.bench.workloads import questions_of
from fansrec.engine.rules import Rules

KEYS = {
    *("workload", "arm", "model", "variant", "backend", "device", "batch", "items", "categories", "length", "k"),
    *("p50_ms", "p99_ms", "mean_ms", "lists_per_s", "lists", "speedup", "speedup_lists"),
}


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return one_by_one_against_one_pass(300, [1, 4, 20], 6, "cpu", workload="aotm")


@dataclass
class Clock:
    """Arms whose calls take as long as they are told: the clock goes on by itself."""

    took: dict[str, float]
    now: float = 0.0
    asked: dict[str, list[int]] = field(default_factory=dict)

    def ask(self, arm: latency.Arm, questions: Any) -> float:
        name = f"{arm.engine.model.name} {arm.categories}"
        self.asked.setdefault(name, []).append(len(questions))
        self.now += self.took[name]
        return self.took[name]


def clocked(monkeypatch: pytest.MonkeyPatch, took: dict[str, float], **settings: Any) -> dict[str, Row]:
    clock = Clock(took)
    monkeypatch.setattr(latency.Arm, "ask", lambda arm, questions: clock.ask(arm, questions))
    monkeypatch.setattr(latency.time, "perf_counter", lambda: clock.now)
    rows = one_by_one_against_one_pass(100, [5], 40, "cpu", workload="aotm", **settings)
    return {f"{row['model']} {row['categories']}": row for row in rows}


TOOK = {"bert4rec 1": 8.0, "sasrec 1": 4.0, "gru4rec 1": 2.0, "fans 1": 1.0, "fans 5": 0.2}


def test_every_system_has_a_row_with_all_keys(rows: list[Row]) -> None:
    assert all(row.keys() >= KEYS for row in rows)
    assert [(row["arm"], row["model"], row["categories"]) for row in rows] == [
        ("autoregressive", "bert4rec", 1),
        ("autoregressive", "sasrec", 1),
        ("autoregressive", "gru4rec", 1),
        ("eager", "fans", 1),
        ("eager", "fans", 4),
        ("eager", "fans", 20),
    ]


def test_rows_say_which_sizes_were_measured(rows: list[Row]) -> None:
    questions = questions_of("aotm", 300, 6, seed=0)
    for row in rows:
        assert row["k"] == pytest.approx(np.mean([question.k for question in questions]))
        assert row["length"] == pytest.approx(np.mean([len(question.input) + question.k for question in questions]))
        assert 0 < row["p50_ms"] <= row["p99_ms"] and row["lists"] == 6


def test_the_one_pass_model_is_named_after_its_classifier(rows: list[Row]) -> None:
    assert [row["variant"] for row in rows[3:]] == ["FANS", "FANS_TSC", "FANS_TSC"]


def test_slow_systems_get_fewer_of_the_same_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = clocked(monkeypatch, TOOK, seconds=100.0)
    lists = [row["lists"] for row in rows.values()]
    assert lists == sorted(lists) and lists[0] < lists[-1] == 40


def test_the_time_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = clocked(monkeypatch, TOOK, seconds=100.0)
    spent = sum(row["lists"] * row["mean_ms"] / 1000 for row in rows.values())
    assert spent <= 100 + sum(TOOK.values())  # a round that began in time is ended


def test_every_system_gets_a_list_even_without_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [row["lists"] for row in clocked(monkeypatch, TOOK, seconds=0.0).values()] == [1] * 5


def test_a_speed_up_is_taken_over_common_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = clocked(monkeypatch, TOOK, seconds=100.0)
    base = rows["bert4rec 1"]
    for name, row in rows.items():
        assert row["speedup"] == pytest.approx(8.0 / TOOK[name])
        assert row["speedup_lists"] == base["lists"]


def test_a_speed_up_leaves_out_lists_that_only_the_fast_system_was_given() -> None:
    base, fast = (latency.Arm("", 1, random_engine("fans", 20, 2, 20, "cpu", 0)) for _ in range(2))
    base.seconds, fast.seconds = [6.0, 4.0], [1.0, 1.0, 100.0]
    batches = [[question] for question in questions_of("small", 20, 3, seed=0)]
    assert latency._row(fast, base, batches, 20)["speedup"] == 5


def test_a_batch_is_one_call_of_several_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    row = clocked(monkeypatch, TOOK, seconds=1e9, batch=16)["fans 1"]
    assert (row["batch"], row["lists"], row["p50_ms"]) == (16, 40, 1000)
    assert row["lists_per_s"] == pytest.approx(40 / 3)


def test_positions_of_a_random_model_choose_different_categories() -> None:
    engine = random_engine("fans", 1_000, 10, 303, "cpu", 0)
    question = questions_of("long", 1_000, 1, seed=0)[0]
    answer = engine.continue_lists([question.input], question.k, Rules(keep_seen=True))[0]
    assert len(np.unique(answer.items // 100)) >= 4


def test_a_file_of_rows_is_written_by_the_module_itself(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["latency", "--workload", "aotm", "--items", "50", "--categories", "5", "--lists", "2", "--json"]
    monkeypatch.setattr("sys.argv", [*words, str(tmp_path / "rows.json")])
    latency.main()
    assert '"variant": "FANS_TSC"' in (tmp_path / "rows.json").read_text()
