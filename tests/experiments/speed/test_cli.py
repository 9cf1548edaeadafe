import json
from pathlib import Path
from typing import Any

import pytest

from fansrec.cli import main
from fansrec.experiments.speed import options as speed_options


def bench(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["fans", "bench", *arguments])
    with pytest.raises(SystemExit) as end:
        main.run()
    return int(end.value.code or 0)


def test_training_measures_both_classifiers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rows.json"
    arguments = ["training", "--workload", "aotm", "--batch", "64", "--batches", "1", "--json", str(file)]
    assert bench(monkeypatch, *arguments) == 0
    rows = json.loads(file.read_text())
    assert [row["classifier"] for row in rows] == ["vanilla", "two-stage"]
    assert all(row["epoch_s"] > 0 and row["peak_gb"] > 0 for row in rows)


QUICK = ["--lists", "2", "--seconds", "0", "--repeats", "1", "--device", "cpu"]


def test_latency_prints_ratios_and_the_agreement_of_items(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    file = tmp_path / "new" / "rows.json"
    arguments = ["latency", "--workload", "aotm,small", "--items", "200", "--categories", "4", *QUICK]
    assert bench(monkeypatch, *arguments, "--arms", "authors,eager,autoregressive,ours", "--json", str(file)) == 0
    rows = json.loads(file.read_text())
    assert {row["workload"] for row in rows} == {"aotm", "small"} and {row["items"] for row in rows} == {200}
    printed = capsys.readouterr().out
    assert "authors bert4rec" in printed and "x authors" in printed and "ours fans best" in printed
    assert "% or more" in printed and "compared)" in printed


def test_throughput_prints_rows_by_batch_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    file = tmp_path / "rows.json"
    arguments = ["throughput", "--workload", "aotm", "--items", "200", "--categories", "4", "--batch", "1,2", *QUICK]
    assert bench(monkeypatch, *arguments, "--json", str(file)) == 0
    assert {row["batch"] for row in json.loads(file.read_text())} == {1, 2}
    assert "padded fans" in capsys.readouterr().out


def test_sweep_is_written_and_plotted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = speed_options.SweepOptions("cpu", 2, 0.0, 1, (64,), (4,), (2,), (2,), size=80, of_size=4, workload="aotm")
    monkeypatch.setattr(speed_options, "SweepOptions", lambda **options: small)
    rows, plot = tmp_path / "rows.json", tmp_path / "plot.png"
    assert bench(monkeypatch, "sweep", "--json", str(rows), "--plot", str(plot), "--device", "cpu") == 0
    assert rows.is_file() and plot.is_file()


def test_trained_models_are_named_by_their_folders(
    songs: Path, best: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    trained = ["--run", str(songs / "run"), "--run", str(best), "--corpus", str(songs / "corpus")]
    file = tmp_path / "rows.json"
    assert bench(monkeypatch, "latency", *trained, *QUICK, "--arms", "ours", "--json", str(file)) == 0
    printed = capsys.readouterr().out
    assert "ours fans (run)" in printed and "ours fans best (best)" in printed
    assert "p99" in printed and "x authors" not in printed  # columns that no system has a value for
    assert [row["run"] for row in json.loads(file.read_text())] == ["run", "best"]
    assert bench(monkeypatch, "throughput", *trained, *QUICK, "--arms", "ours", "--batch", "1,2") == 0
    assert "ours fans best (best)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["latency", "--run", "runs/fans"], "--run needs --corpus"),
        (["throughput", "--corpus", "corpora/aotm"], "--corpus needs --run"),
        (["latency", "--workload", "deezer"], "there is no workload 'deezer'"),
        (["training", "--workload", "aotm,deezer"], "there is no workload 'deezer'"),
        (["latency", "--categories", "10,many"], "--categories 10,many is not a comma-separated list"),
        (["latency", "--categories", "0"], "integers >= 1"),
        (["latency", "--arms", "ours,theirs"], "there is no arm 'theirs'"),
        (["latency", "--items", "50", "--categories", "100"], "more than the 50 items"),
        (["throughput", "--batch", "1,0"], "--batch 1,0 is not a comma-separated list"),
        (["throughput", "--device", "abacus"], "there is no device abacus"),
    ],
)
def test_invalid_options_are_refused(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    assert bench(monkeypatch, *arguments) == 2
    assert message in capsys.readouterr().err
