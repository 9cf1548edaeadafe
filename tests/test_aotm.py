"""Train on the paper's own AotM split; takes minutes, so `make test-long` runs it.

docs/explanation/results.md has the figures.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fansrec import prepare, train
from fansrec.data.corpus import read_corpus
from fansrec.evaluation.protocol import protocol
from fansrec.evaluation.rows import measure_run, open_run

HOW: dict[str, Any] = {
    "min_length": 10,
    "max_length": 60,
    "categories": 10,
    "categories_from": "all",
    "split": "file-order",
}


@pytest.mark.long
@pytest.mark.parametrize("classifier", ["two-stage", "vanilla"])
def test_fans_is_far_ahead_of_popularity_on_the_papers_test_lists(
    real_data: Callable[[str], Path], tmp_path: Path, classifier: str
) -> None:
    prepare(real_data("aotm/AotM.txt.zip"), tmp_path / "corpus", **HOW)
    train(tmp_path / "corpus", tmp_path / "run", "fans", {"recipe": "paper", "classifier": classifier})
    corpus = read_corpus(tmp_path / "corpus")
    row = measure_run(open_run(tmp_path / "run", corpus), corpus, protocol("paper")).row
    assert (row["lists@5"], row["lists@10"]) == (1292, 65)
    assert row["HR@5"] > 2 * 0.0364  # popularity, input excluded
    assert row["NDCG@5"] > 2 * 0.0058


@pytest.mark.long
def test_what_is_trained_by_default_is_ahead_of_the_fast_models_there(
    real_data: Callable[[str], Path], tmp_path: Path
) -> None:
    prepare(real_data("aotm/AotM.txt.zip"), tmp_path / "corpus", **HOW)
    train(tmp_path / "corpus", tmp_path / "run", values={"epochs": 10})
    comparison = json.loads((tmp_path / "run" / "config.json").read_text())["comparison"]
    *others, ours = comparison["rows"]
    assert {row["model"] for row in others} == {"popularity", "item-knn", "ease", "slist", "vstan"}
    assert all(ours[figure] > row[figure] for row in others for figure in ("NDCG@5", "HR@5", "HR@10"))
