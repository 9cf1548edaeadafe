import json
from pathlib import Path

import numpy as np
import pytest

from fansrec.bench.workloads import WORKLOADS, make_corpus
from fansrec.cli import main


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_has_the_sizes_it_names(name: str) -> None:
    workload = WORKLOADS[name]
    corpus = make_corpus(workload, np.random.default_rng(0))
    assert len(corpus) == workload.lists and len(corpus.vocabulary) == workload.items
    assert corpus.lengths.min() >= workload.shortest and corpus.lengths.max() <= workload.longest
    assert corpus.lengths.mean() == pytest.approx(workload.mean, rel=0.05)


def test_training_is_measured_for_both_classifiers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rows.json"
    words = ["bench", "training", "--workload", "aotm", "--batch", "64", "--batches", "1", "--json", str(file)]
    monkeypatch.setattr("sys.argv", ["fans", *words])
    with pytest.raises(SystemExit) as end:
        main.run()
    assert end.value.code == 0
    rows = json.loads(file.read_text())
    assert [row["classifier"] for row in rows] == ["vanilla", "two-stage"]
    assert all(row["epoch_s"] > 0 and row["peak_gb"] > 0 for row in rows)
