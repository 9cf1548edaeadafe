import json
from pathlib import Path
from typing import Any

import pytest

from fansrec.cli import main
from fansrec.experiments.speed import sweep


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


QUICK = ["--lists", "2", "--seconds", "0", "--repeats", "1", "--device", "cpu"]


def test_latency_is_shown_with_ratios_and_the_share_of_same_items(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    file = tmp_path / "new" / "rows.json"
    words = ["latency", "--workload", "aotm,small", "--items", "200", "--categories", "4", *QUICK]
    assert bench(monkeypatch, *words, "--arms", "authors,eager,autoregressive,ours", "--json", str(file)) == 0
    rows = json.loads(file.read_text())
    assert {row["workload"] for row in rows} == {"aotm", "small"} and {row["items"] for row in rows} == {200}
    shown = capsys.readouterr().out
    assert "authors bert4rec" in shown and "x authors" in shown and "ours fans best" in shown
    assert "% or more" in shown and "compared)" in shown


def test_throughput_is_shown_by_lists_a_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    file = tmp_path / "rows.json"
    words = ["throughput", "--workload", "aotm", "--items", "200", "--categories", "4", "--batch", "1,2", *QUICK]
    assert bench(monkeypatch, *words, "--json", str(file)) == 0
    assert {row["batch"] for row in json.loads(file.read_text())} == {1, 2}
    assert "padded fans" in capsys.readouterr().out


def test_a_sweep_is_written_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = sweep.Sweep("cpu", 2, 0.0, 1, (64,), (4,), (2,), (2,), size=80, of_size=4, workload="aotm")
    monkeypatch.setattr(sweep, "Sweep", lambda **given: small)
    rows, plot = tmp_path / "rows.json", tmp_path / "plot.png"
    assert bench(monkeypatch, "sweep", "--json", str(rows), "--plot", str(plot), "--device", "cpu") == 0
    assert rows.is_file() and plot.is_file()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["latency", "--workload", "deezer"], "there is no workload 'deezer'"),
        (["training", "--workload", "aotm,deezer"], "there is no workload 'deezer'"),
        (["latency", "--categories", "10,many"], "--categories is '10,many'"),
        (["latency", "--categories", "0"], "at least 1"),
        (["latency", "--arms", "ours,theirs"], "there is no arm 'theirs'"),
        (["latency", "--items", "50", "--categories", "100"], "more than the 50 items"),
        (["throughput", "--batch", "1,0"], "--batch is '1,0'"),
        (["throughput", "--device", "abacus"], "there is no device abacus"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    words: list[str], told: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    assert bench(monkeypatch, *words) == 2
    assert told in capsys.readouterr().err
