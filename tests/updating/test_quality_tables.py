"""The tables of the page on updates, from rows of benchmarks/updates."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.updates.tables")


def rows(share: float) -> list[dict[str, Any]]:
    shares = {"without update": 60.0, "updated": share, "trained again": 100.0, "started": 99.0}
    return [
        {
            "counted": counted,
            "model": model,
            "metric": metric,
            "mean": value / 1000,
            "interval": [value / 1000 - 0.01, value / 1000 + 0.01],
            "percent_of_again": value,
            "percent_interval": [value - 2, value + 2],
            "lists": 50,
            "cpu_seconds": 20.0 if model == "started" else 100.0,
        }
        for counted in ("all items", "new items")
        for model, value in shares.items()
        for metric in ("NDCG@5", "HR@5", "NDCG@10", "HR@10")
    ]


def test_tables_say_which_targets_are_missed(tables: Any, tmp_path: Path) -> None:
    (tmp_path / "nowplaying.json").write_text(json.dumps(rows(90.0)))
    metadata = {"known": "group", "mean": 0.1, "random": 0.01, "times_random": 10.0, "times_random_interval": [8, 12]}
    (tmp_path / "metadata-sample.json").write_text(json.dumps([metadata]))
    found = tables.tables(tables.Rows(tmp_path))
    assert "| all items, nowplaying | 97% of NDCG@5 | 90.0% | [88.0, 92.0] | **missed** |" in found["updates-targets"]
    assert "| new items, nowplaying | 80% of NDCG@5 | 90.0% | [88.0, 92.0] | yes |" in found["updates-targets"]
    assert "| items of no list, sample world | 5 x random | 10.0 x | [8.0, 12.0] | yes |" in found["updates-targets"]
    assert "20 s | 20% | 0.0990 | 99.0% [97.0, 101.0] |" in found["updates-times"]


def test_picture_has_a_panel_for_each_set(tables: Any, tmp_path: Path) -> None:
    (tmp_path / "aotm-large.json").write_text(json.dumps(rows(98.0)))
    assert tables.draw(tables.Rows(tmp_path)).startswith(b"\x89PNG")


def test_measured_rows_have_all_columns_of_the_tables(tables: Any) -> None:
    found = tables.tables(tables.Rows(ROOT / "benchmarks" / "rows" / "updates"))
    assert set(found) == {f"updates-{name}" for name in ("targets", "all-items", "new-items", "times", "metadata")}
