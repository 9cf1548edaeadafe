"""The comparison with other libraries, without installing any: exchange of lists, worker processes, metrics, table."""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from fansrec.data.corpus import Corpus
from fansrec.evaluation.protocol import EvaluationLists
from worlds import corpus_of, vocabulary_of

ROOT = Path(__file__).parents[2]
TOY = """
import time
import numpy as np

def open_model(name):
    return Toy(name)

class Toy:
    def __init__(self, name):
        self.name = name

    def fit(self, settings, lists, items):
        if self.name == "broken":
            raise ValueError("this model cannot be fitted")
        if self.name == "slow":
            time.sleep(60)
        self.step, self.items = settings["step"], items

    def answer(self, inputs, k):  # the items after the last one, in steps
        return np.array([[(given[-1] + self.step * n) % self.items for n in range(1, k + 1)] for given in inputs])
"""


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that imports a module of benchmarks/peers."""
    monkeypatch.syspath_prepend(str(ROOT))

    def load(name: str) -> ModuleType:
        return importlib.import_module(f"benchmarks.peers.{name}")

    return load


@pytest.fixture
def corpus() -> Corpus:
    """Return walks around a circle of 40 items: two training lists, one validation list, one test list."""
    walks = [[(start + n) % 40 for n in range(8)] for start in (0, 9, 17, 25)]
    return corpus_of(walks, vocabulary_of([40]), [0, 0, 1, 2])


@pytest.fixture
def measure(peers: Any, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that measures a model of the module TOY in this Python, and a list of its reports."""
    (tmp_path / "toy_models.py").write_text(TOY, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    measuring, catalog = peers("measuring"), peers("catalog")

    def row(model: str, steps: tuple[int, ...], limit_s: float = 60) -> dict[str, Any]:
        peer = catalog.Peer("toy", "toy", "toy_models", model, tuple({"step": step} for step in steps))
        measurement = measuring.Measurement(Path(sys.executable), limit_s, lambda line: None, ours=True)
        found: dict[str, Any] = measurement.row(peer, measuring.export(corpus, tmp_path / "exchange"))
        return found

    return row


def test_exported_lists_are_read_back(peers: Any, corpus: Corpus, tmp_path: Path) -> None:
    exchange = peers("measuring").export(corpus, tmp_path)
    read = peers("files").read_lists
    assert [len(read(tmp_path / f"fit-for-{stage}.npz")) for stage in ("valid", "test")] == [2, 3]
    np.testing.assert_array_equal(read(tmp_path / "fit-for-test.npz")[2], corpus.list(2))
    [given] = read(tmp_path / "inputs-test.npz")
    np.testing.assert_array_equal(given, exchange.test.inputs[0])


def test_the_best_candidate_on_the_validation_lists_answers_the_test_lists(measure: Any) -> None:
    row = measure("steps", (3, 1, 2))
    assert row["settings"] == {"step": 1}
    assert row["NDCG@5"] == 1.0 and row["HR@5"] == 1.0
    assert row["peak_mb"] > 0 and row["ms_per_list"] > 0 and row["train_s"] >= row["fit_s"]
    assert [one["settings"]["step"] for one in row["tried"]] == [3, 1, 2]


def test_a_model_that_fails_has_the_last_line_of_its_error(measure: Any) -> None:
    assert measure("broken", (1, 2))["failure"] == "ValueError: this model cannot be fitted"


def test_a_model_that_takes_too_long_is_stopped(measure: Any) -> None:
    assert measure("slow", (1, 2), limit_s=1)["failure"] == "stopped after 1 s"


def test_answers_with_items_of_the_input_are_refused(measure: Any) -> None:
    assert "items of its input" in measure("steps", (40,))["failure"]


def test_answers_with_repeated_items_are_refused(peers: Any) -> None:
    judging = peers("judging")
    lists = EvaluationLists([np.array([0])], [np.array([1], dtype=np.int32)])
    with pytest.raises(judging.BadAnswers, match="an item twice"):
        judging.judge(np.array([[1, 1, *[-1] * 8]]), lists)
    assert judging.judge(np.array([[1, *[-1] * 9]]), lists)["NDCG@5"] == 1.0


def test_a_library_that_cannot_be_installed_becomes_a_row(
    peers: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environments = peers("environments")
    monkeypatch.setattr(environments.sys, "executable", "/bin/false")
    library = peers("catalog").LIBRARIES["implicit"]
    with pytest.raises(environments.NotInstalled, match="no message"):
        environments.install(tmp_path / "env", library)
    assert environments.last_error("x\nERROR: no version\nnote: see above\n") == "ERROR: no version"


def test_only_torch_is_pinned(peers: Any) -> None:
    assert peers("environments").torch_pin("pandas==3.1\ntorch==2.13.0\n") == "torch==2.13.0\n"


def test_the_table_has_the_best_model_first_and_failures_last(peers: Any) -> None:
    times = {"train_s": 75.0, "fit_s": 2.0, "ms_per_list": 0.5, "lists_per_s": 2000.0, "peak_mb": 100.0}
    figures = times | {"version": "1", "HR@5": 0.5, "settings": {}}
    rows = [
        {"model": "broken", "failure": "no | memory"},
        {"model": "worse", "NDCG@5": 0.1} | figures,
        {"model": "better", "NDCG@5": 0.2} | figures | {"settings": {"K": 50}, "tried": [{}]},
    ]
    _, _, first, second, third = peers("table").table(rows).splitlines()
    assert first == "| better 1 | 0.2000 | 0.5000 | 1 min 15 s | 2.0 s | 0.50 | 2,000 | 100 MB | K 50 |"
    assert second.startswith("| worse 1 | 0.1000 | 0.5000 | 1 min 15 s | – |") and third.endswith("| no / memory |")


def test_the_page_shows_the_stored_rows(peers: Any, tmp_path: Path) -> None:
    table = peers("table")
    document = (ROOT / "docs" / "explanation" / "peers.md").read_text(encoding="utf-8")
    found = table.tables(ROOT / "benchmarks" / "rows" / "peers")
    assert found and all(f"<!-- {name} -->" in document for name in found)
    page = tmp_path / "peers.md"
    page.write_text(document, encoding="utf-8")
    table.print_or_write(found, page)
    assert page.read_text(encoding="utf-8") == document
