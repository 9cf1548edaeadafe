"""The paper's own test lists: minutes of training, so for `make test-long`. docs/results.md has the figures."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fansrec import Preparation, prepare, train
from fansrec.data.corpus import read_corpus
from fansrec.evaluation.protocol import protocol
from fansrec.evaluation.rows import evaluate_run, open_run


@pytest.mark.long
@pytest.mark.parametrize("classifier", ["two-stage", "vanilla"])
def test_fans_is_far_ahead_of_popularity_on_the_papers_test_lists(
    real_data: Callable[[str], Path], tmp_path: Path, classifier: str
) -> None:
    how = Preparation(min_length=10, max_length=60, categories=10, categories_from="all", split="file-order")
    prepare(real_data("aotm/AotM.txt.zip"), tmp_path / "corpus", how)
    train(tmp_path / "corpus", tmp_path / "run", "fans", {"classifier": classifier})
    corpus = read_corpus(tmp_path / "corpus")
    row = evaluate_run(open_run(tmp_path / "run", corpus), corpus, protocol("paper"))
    assert (row["lists@5"], row["lists@10"]) == (1292, 65)
    assert row["HR@5"] > 2 * 0.0364  # popularity, input excluded
    assert row["NDCG@5"] > 2 * 0.0058
