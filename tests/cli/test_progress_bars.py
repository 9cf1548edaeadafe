"""Long commands show how far they are, and for how long they will run."""

import io
import re
from pathlib import Path

import pytest

from fansrec.cli import prepare as command
from fansrec.cli.progress_bars import JobBar, StageBar
from fansrec.cli.terminal import Terminal
from fansrec.data.item_vectors import cbow_vectors
from fansrec.data.lists import Lists
from worlds import walks


def terminal() -> tuple[Terminal, io.StringIO]:
    shown = io.StringIO()
    return Terminal(file=shown, force_terminal=True, width=100), shown


def test_stage_shows_its_title_and_the_time_left() -> None:
    console, shown = terminal()
    with StageBar(console, "reading") as bar:
        bar.progress.refresh()
        bar.stage("learning the categories")
        bar.advance(1, 4)
        bar.advance(2, 4)
        bar.progress.refresh()
        (task,) = bar.progress.tasks
    assert (task.description, task.completed, task.total) == ("learning the categories", 2, 4)
    assert "reading" in shown.getvalue() and "learning the categories" in shown.getvalue()
    assert re.search(r"left (\x1b\[\d+m)?[-\d]:[-\d]{2}:[-\d]{2}", shown.getvalue())


def test_same_stage_keeps_its_progress() -> None:
    with StageBar(terminal()[0], "measuring") as bar:
        bar.advance(3, 4)
        bar.stage("measuring")
        assert bar.progress.tasks[0].completed == 3
        bar.stage("writing")
        assert bar.progress.tasks[0].total is None


def test_jobs_have_an_estimate_of_the_time_left() -> None:
    console, shown = terminal()
    with JobBar(console) as bar:
        bar.begin("folds", 2)
        bar.progress.refresh()
    assert "folds" in shown.getvalue() and "0/2" in shown.getvalue() and "left" in shown.getvalue()


def test_learning_categories_reports_all_lists_of_all_epochs() -> None:
    reports: list[tuple[int, int]] = []
    corpus = walks(lists=40)
    cbow_vectors(Lists(corpus.items, corpus.offsets), 60, 1, 0, lambda done, total: reports.append((done, total)))
    assert len({total for _, total in reports}) == 1
    assert reports == sorted(reports) and reports[-1][0] == reports[-1][1]


def test_bar_is_not_printed_into_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "lists.csv"
    rows = [f"{n},i{(n + step) % 12}" for n in range(40) for step in range(6)]
    source.write_text("list_id,item_id\n" + "\n".join(rows))
    command.prepare(str(source), tmp_path / "corpus", min_item_count=1, min_length=2, categories="2")
    assert "learning" not in capsys.readouterr().out
