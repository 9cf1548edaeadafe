import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from fansrec.experiments import demo
from fansrec.training.reporting import Reporter


def test_demo_runs_and_the_best_recipe_beats_the_baselines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "FANS", demo.FANS | {"epochs": 1, "warmup": 20})
    monkeypatch.setattr("fansrec.training.hybrid.held_out.MAX_LISTS", 200)
    out = io.StringIO()
    rows = demo.run_demo(tmp_path / "demo", 0, Console(file=out, width=200), Reporter())
    assert [row["model"] for row in rows] == ["popularity", "item-knn", "ease", "fans"]
    for better in rows[1:]:
        assert better["NDCG@5"] > rows[0]["NDCG@5"] and better["HR@5"] > rows[0]["HR@5"]
    assert rows[-1]["variant"] == "FANS (best)"
    assert all(rows[-1][metric] > 1.05 * row[metric] for row in rows[:-1] for metric in ("NDCG@5", "HR@5", "NDCG@10"))
    printed = out.getvalue()
    assert all(f"{number}. " in printed for number in range(1, 6))
    assert printed.count("  … ") == demo.EXAMPLES


@pytest.mark.long
def test_demo_command() -> None:
    command = [str(Path(sys.executable).with_name("fans")), "demo"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"COLUMNS": "200"}, check=True)
    runs = ("popularity", "item-knn", "ease", "fans")
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(tuple(f"{run} " for run in runs))]
    ndcg = {row[0]: float(row[row.index("standard") + 1]) for row in rows[: len(runs)]}
    assert all(ndcg[run] > 2 * ndcg["popularity"] for run in runs[1:])
    assert all(ndcg["fans"] > 1.05 * ndcg[run] for run in runs[:-1])
    assert done.stderr == ""
