"""Figures on the paper's test lists: takes minutes, so it runs in `make test-long`. docs/results.md has the figures."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fansrec import Preparation, prepare, train
from fansrec.data.corpus import read_corpus
from fansrec.evaluation.protocol import protocol
from fansrec.evaluation.rows import evaluate_run, open_run

PREPARATION = Preparation(min_length=10, max_length=60, categories=10, categories_from="all", split="file-order")


@pytest.mark.long
@pytest.mark.parametrize("classifier", ["two-stage", "vanilla"])
def test_fans_beats_popularity_on_the_test_lists_of_the_paper(
    real_data: Callable[[str], Path], tmp_path: Path, classifier: str
) -> None:
    prepare(real_data("aotm/AotM.txt.zip"), tmp_path / "corpus", PREPARATION)
    train(tmp_path / "corpus", tmp_path / "run", "fans", {"recipe": "paper", "classifier": classifier})
    corpus = read_corpus(tmp_path / "corpus")
    row = evaluate_run(open_run(tmp_path / "run", corpus), corpus, protocol("paper"))
    assert (row["lists@5"], row["lists@10"]) == (1292, 65)
    assert row["HR@5"] > 2 * 0.0364  # popularity, input excluded
    assert row["NDCG@5"] > 2 * 0.0058


@pytest.mark.long
def test_default_model_beats_ease_and_item_knn(real_data: Callable[[str], Path], tmp_path: Path) -> None:
    prepare(real_data("aotm/AotM.txt.zip"), tmp_path / "corpus", PREPARATION)
    train(tmp_path / "corpus", tmp_path / "run", values={"epochs": 10})
    comparison = json.loads((tmp_path / "run" / "config.json").read_text())["comparison"]
    *others, ours = comparison["rows"]
    assert {row["model"] for row in others} == {"popularity", "item-knn", "ease"}
    assert all(ours[figure] > row[figure] for row in others for figure in ("NDCG@5", "HR@5", "HR@10"))
