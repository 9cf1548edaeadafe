import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from fansrec.experiments.speed.latency import latency
from fansrec.experiments.speed.options import LatencyOptions

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("performance_tables", ROOT / "benchmarks" / "performance_tables.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    options = LatencyOptions(
        "aotm", items=60, categories=(10,), arms=("authors", "eager", "ours"), lists=1, seconds=0, repeats=1
    )
    (tmp_path / "cpu-latency.json").write_text(json.dumps(latency(options)))
    return tmp_path


def test_measured_rows_become_tables_and_the_others_are_marked(script: ModuleType, folder: Path) -> None:
    found = script.tables(folder)
    assert "| authors fans | torch | 10 |" in found["cpu-latency"] and "--recipe best" in found["cpu-latency"]
    assert found["h200-latency"].startswith("TODO: `python -m fansrec.experiments speed latency")
    targets = found["targets"].splitlines()
    assert sum("TODO" in line for line in targets) < len(script.TARGETS)


def test_figures_that_no_row_has_get_no_column(script: ModuleType, folder: Path) -> None:
    measured = folder / "cpu-latency.json"
    rows = json.loads(measured.read_text())
    measured.write_text(json.dumps([row | {"working_mb": 12.5} for row in rows]))
    assert "| work MB |" in script.tables(folder)["cpu-latency"] and "| 12.5 |" in script.tables(folder)["cpu-latency"]
    older = [{name: value for name, value in row.items() if name != "working_mb"} for row in rows]
    measured.write_text(json.dumps(older))
    assert "work MB" not in script.tables(folder)["cpu-latency"]


def test_a_figure_that_falls_short_is_called_missed(script: ModuleType, folder: Path) -> None:
    measured = folder / "cpu-latency.json"
    rows = [row | {"times_authors": 1.0} for row in json.loads(measured.read_text())]  # on any machine
    measured.write_text(json.dumps(rows))
    line = next(
        line for line in script.tables(folder)["targets"].splitlines() if "N = 10 | 2 CPU cores | at least 80" in line
    )
    assert line.endswith("**missed** |")


def test_filling_a_document_again_changes_nothing_more(script: ModuleType, folder: Path) -> None:
    found = script.tables(folder)
    once = script.filled((ROOT / "docs" / "explanation" / "performance.md").read_text(), found)
    assert found["cpu-latency"] in once
    assert script.filled(once, found) == once


def test_every_table_has_its_place_in_the_document(script: ModuleType, tmp_path: Path) -> None:
    document = (ROOT / "docs" / "explanation" / "performance.md").read_text()
    assert all(f"<!-- {name} -->" in document and f"<!-- /{name} -->" in document for name in script.tables(tmp_path))
