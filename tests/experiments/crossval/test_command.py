"""The bare command: cells of folds made elsewhere."""

import json

import pytest

from fansrec.experiments.__main__ import main
from fansrec.experiments.crossval.work import Choice


@pytest.mark.usefixtures("in_turn")
def test_cells_are_done_once_and_reported(choice: Choice, capsys: pytest.CaptureFixture[str]) -> None:
    file = choice.folder / "result.json"
    words = [
        "crossval",
        str(choice.folder),
        "--models",
        "popularity,ease:paper",
        "--fold-numbers",
        "0,2",
        "--workers",
        "2",
    ]
    assert main([*words, "--device", "cpu", "--json", str(file)]) == 0
    out = capsys.readouterr().out
    assert "cells: 4 to do" in out and "[4/4]" in out and "NDCG@5" in out
    assert json.loads(file.read_text())["fold_numbers"] == [0, 2]
    assert main([*words, "--device", "cpu"]) == 0
    assert "cells: 0 to do" in capsys.readouterr().out


def test_folds_that_are_not_there_are_skipped_by_name(choice: Choice, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        (choice.folder / f"fold-{number}").unlink()
    assert main(["crossval", str(choice.folder), "--models", "popularity"]) == 2
    told = capsys.readouterr()
    assert told.out.count("skipped:") == 3 and "holds none of the folds" in told.err


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (["--models", "bogus"], "no model 'bogus'"),
        (["--models", "ease", "--workers", "0"], "--workers 0"),
        (["--models", "ease", "--seeds", "a"], "--seeds a"),
        (["--models", "ease", "--fold-numbers", "7"], "numbered 0 to 2"),
    ],
)
def test_what_makes_no_sense_is_refused(
    choice: Choice, capsys: pytest.CaptureFixture[str], words: list[str], word: str
) -> None:
    assert main(["crossval", str(choice.folder), *words]) == 2
    assert word in capsys.readouterr().err
