import json
from pathlib import Path
from typing import Any

import pytest

from fansrec.cli import main


def bench(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["fans", "bench", *words])
    with pytest.raises(SystemExit) as end:
        main.run()
    return int(end.value.code or 0)


def test_training_is_measured_for_both_classifiers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rows.json"
    words = ["training", "--workload", "aotm", "--batch", "64", "--batches", "1", "--json", str(file)]
    assert bench(monkeypatch, *words) == 0
    rows = json.loads(file.read_text())
    assert [row["classifier"] for row in rows] == ["vanilla", "two-stage"]
    assert all(row["epoch_s"] > 0 and row["peak_gb"] > 0 for row in rows)


def test_latency_is_shown_with_speed_ups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    file = tmp_path / "new" / "rows.json"
    words = ["latency", "--workload", "aotm", "--categories", "10,20", "--lists", "2", "--device", "cpu"]
    assert bench(monkeypatch, *words, "--json", str(file)) == 0
    rows = json.loads(file.read_text())
    assert {row["items"] for row in rows} == {6_264} and rows[0]["speedup"] == 1
    shown = capsys.readouterr().out
    assert "BERT4Rec" in shown and "FANS_TSC" in shown and "speedup" in shown


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["latency", "--workload", "deezer"], "there is no workload 'deezer'"),
        (["training", "--workload", "aotm,deezer"], "there is no workload 'deezer'"),
        (["latency", "--categories", "10,many"], "--categories is '10,many'"),
        (["latency", "--categories", "0"], "at least 1"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    words: list[str], told: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    assert bench(monkeypatch, *words) == 2
    assert told in capsys.readouterr().err
