import io
import os
import subprocess
import sys
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from docs.commands import ROOT
from docs.pages import PAGES
from docs.running import InProcess
from docs.world import train_small
from fansrec.experiments import demo
from fansrec.training.reporting import Reporter

TUTORIAL = "docs/tutorials/sample-world.md"


@pytest.fixture(scope="module")
def small_demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]], str]:
    """Run the demo with an epoch of FANS; return its folder, its rows and what it printed."""
    folder, out = tmp_path_factory.mktemp("demo") / "demo", io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "FANS", demo.FANS | {"epochs": 1, "warmup": 20})
        patch.setattr("fansrec.training.hybrid.held_out.MAX_LISTS", 200)
        rows = demo.run_demo(folder, 0, Console(file=out, width=200), Reporter())
    return folder, rows, out.getvalue()


def test_demo_runs_and_the_best_recipe_beats_the_baselines(
    small_demo: tuple[Path, list[dict[str, Any]], str],
) -> None:
    _, rows, printed = small_demo
    assert [row["model"] for row in rows] == ["popularity", "item-knn", "ease", "fans"]
    for better in rows[1:]:
        assert better["NDCG@5"] > rows[0]["NDCG@5"] and better["HR@5"] > rows[0]["HR@5"]
    assert rows[-1]["variant"] == "FANS (best)"
    assert all(rows[-1][metric] > 1.05 * row[metric] for row in rows[:-1] for metric in ("NDCG@5", "HR@5", "NDCG@10"))
    assert all(f"{number}. " in printed for number in range(1, 6))
    assert printed.count("  … ") == demo.EXAMPLES


def test_tutorial_continues_with_the_models_of_the_demo(
    small_demo: tuple[Path, list[dict[str, Any]], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "demo").symlink_to(small_demo[0])
    train_small(monkeypatch)
    less = {"fans evaluate": "fans evaluate --protocol standard --examples 1"}
    skip = PAGES[TUTORIAL].skip | {".venv/bin/fans demo": "a fixture has run it"}
    page = replace(PAGES[TUTORIAL], skip=skip, replace=less)
    with chdir(tmp_path), InProcess(page) as runner:
        runner.run(ROOT / TUTORIAL)
        assert runner.service is not None and len(runner.service.ask([["s0001"]]).json()["answers"]) == 1
    verbs = [text.split()[1] for text in runner.ran if text.startswith("fans")]
    assert verbs == ["continue", "continue", "train", "evaluate", "serve"]
    assert (tmp_path / "report.html").is_file()


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
