"""The tables of the quality page, from results of `fans crossval`."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
MEANS = {"fans": 0.30, "fans+network_weight=0": 0.28, "ease": 0.20, "slist": 0.25}


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delitem(sys.modules, "performance_tables", raising=False)
    spec = importlib.util.spec_from_file_location("quality_tables", BENCHMARKS / "quality_tables.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def result() -> dict[str, Any]:
    """Return a result in which SLIST is the best rival, except that EASE has more hits among ten."""
    ways, metrics = ("k fixed", "one given item"), ("NDCG@5", "HR@5", "NDCG@10", "HR@10")
    figures, paired = [], []
    for system, mean in MEANS.items():
        for way in ways:
            for metric in metrics:
                value = 0.27 if (system, metric) == ("ease", "HR@10") else mean
                label = {"system": system, "way": way, "metric": metric}
                figures.append(label | {"mean": value, "interval": [value - 0.01, value + 0.01]})
                percent = 100 * (0.30 - value) / value
                compared = {"percent": percent, "percent_interval": [percent - 2, percent + 2]}
                paired.append(label | {"system": "fans", "rival": system} | compared)
    return {"figures": figures, "paired": paired, "order": [], "variety": []}


def test_the_gain_is_over_the_best_model_by_each_metric(script: ModuleType, result: dict[str, Any]) -> None:
    [_, row] = script.gains_table({"aotm": result}, "k fixed")
    assert row[:3] == ["aotm", "SLIST", "+20.0% [+18.0, +22.0]"]
    assert row[5] == "+11.1% [+9.1, +13.1] (EASE)"


def test_models_that_were_not_measured_are_marked(script: ModuleType, result: dict[str, Any]) -> None:
    rows = {row[0]: row[1] for row in script.figures_table({"aotm": result}, "k fixed")}
    assert rows["SLIST"] == "0.2500 / 0.2500" and rows["V-STAN"] == "– / –"


def test_the_network_adds_what_is_missing_without_it(script: ModuleType, result: dict[str, Any]) -> None:
    [_, row] = script.network_table({"aotm": result})
    assert row[1] == "+7.1% [+5.1, +9.1]"


def test_stored_results_fill_the_document(script: ModuleType, result: dict[str, Any], tmp_path: Path) -> None:
    stored = json.dumps(result).replace('"fans"', '"fans:best"').replace('"slist"', '"slist:best"')
    (tmp_path / "aotm.json").write_text(stored, encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text("<!-- split-gains -->\nold\n<!-- /split-gains -->")
    script.print_or_write(script.tables(tmp_path), page)
    document = page.read_text()
    assert "old" not in document and "+20.0%" in document
