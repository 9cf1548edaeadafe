"""`python -m fansrec.experiments speed …`: the benchmarks on a bare accelerator machine."""

import json
from pathlib import Path

import pytest

from fansrec.experiments.__main__ import main

SMALL = {
    "latency": ["--items", "50", "--categories", "5", "--arms", "authors", "ours", "--lists", "1"],
    "throughput": ["--items", "50", "--categories", "5", "--batches", "2", "--lists", "2"],
    "stages": ["--items", "50", "--categories", "5", "--lists", "1", "--repeats", "1"],
}
COLUMN = {"latency": "p50_ms", "throughput": "lists_per_s", "stages": "layers_ms"}


@pytest.mark.parametrize("benchmark", SMALL)
def test_rows_are_written_and_printed(benchmark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["speed", benchmark, "--workload", "aotm", *SMALL[benchmark], "--seconds", "0"]
    assert main([*arguments, "--json", str(tmp_path / "rows.json")]) == 0
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert all(row[COLUMN[benchmark]] is not None for row in rows)
    printed = capsys.readouterr().out.splitlines()
    assert COLUMN[benchmark] in printed[-len(rows) - 1].split()


def test_invalid_options_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["speed", "latency", "--arms", "theirs", "--json", str(tmp_path / "rows.json")]) == 2
    assert "there is no arm 'theirs'" in capsys.readouterr().err
