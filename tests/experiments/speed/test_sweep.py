import json
from pathlib import Path

import pytest

from fansrec.experiments.speed import drawing, sweep
from fansrec.experiments.speed.options import SweepOptions
from fansrec.experiments.speed.rows import Row

SMALL = SweepOptions(
    *("cpu", 2, 0.0, 1, (64, 100), (1, 4), (1, 3), (1, 2)),
    size=80,
    of_size=4,
    workload="aotm",
)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return sweep.sweep(SMALL)


def test_one_size_varies_at_a_time(rows: list[Row]) -> None:
    def sizes(varies: str, name: str) -> set[float]:
        return {row[name] for row in rows if row["varies"] == varies and row["arm"] == "ours"}

    assert sizes("items", "items") == {64, 100} and sizes("items", "categories") == {8, 10}
    assert sizes("categories", "categories") == {1, 4} and sizes("categories", "items") == {80}
    assert sizes("k", "k") == {1, 3} and sizes("batch", "batch") == {1, 2}


def test_autoregressive_generation_is_measured_where_k_varies(rows: list[Row]) -> None:
    slow = [row for row in rows if row["model"] == "bert4rec"]
    assert {row["varies"] for row in slow} == {"k"} and all(row["arm"] == "autoregressive" for row in slow)


def test_hybrid_model_is_in_every_panel(rows: list[Row]) -> None:
    hybrid = {row["varies"] for row in rows if (row["arm"], row["variant"]) == ("ours", "best")}
    assert hybrid == {"items", "categories", "k", "batch"}


def test_module_plots_the_rows(rows: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    monkeypatch.setattr(
        "sys.argv", ["drawing", "sweep", str(tmp_path / "rows.json"), "--out", str(tmp_path / "rows.png")]
    )
    drawing.main()
    assert (tmp_path / "rows.png").read_bytes().startswith(b"\x89PNG")
