"""`python -m fansrec.experiments crossval`: the cells of folds that were made elsewhere."""

import json

import pytest

from fansrec.experiments.__main__ import main
from fansrec.experiments.crossval.cross_validation import CrossValidation


@pytest.mark.usefixtures("in_process")
def test_cells_are_run_once_and_reported(validation: CrossValidation, capsys: pytest.CaptureFixture[str]) -> None:
    file = validation.folder / "result.json"
    arguments = [
        "crossval",
        str(validation.folder),
        "--models",
        "popularity,ease:paper",
        "--fold-numbers",
        "0,2",
        "--workers",
        "2",
    ]
    assert main([*arguments, "--device", "cpu", "--json", str(file)]) == 0
    out = capsys.readouterr().out
    assert "cells: 4 to do" in out and "[4/4]" in out and "NDCG@5" in out
    assert json.loads(file.read_text())["fold_numbers"] == [0, 2]
    assert main([*arguments, "--device", "cpu"]) == 0
    assert "cells: 0 to do" in capsys.readouterr().out


def test_missing_folds_are_skipped_by_name(validation: CrossValidation, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        (validation.folder / f"fold-{number}").unlink()
    assert main(["crossval", str(validation.folder), "--models", "popularity"]) == 2
    printed = capsys.readouterr()
    assert printed.out.count("skipped:") == 3 and "has none of the folds" in printed.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", "bogus"], "no model 'bogus'"),
        (["--models", "ease", "--workers", "0"], "--workers 0"),
        (["--models", "ease", "--seeds", "a"], "--seeds a"),
        (["--models", "ease", "--fold-numbers", "7"], "numbered 0 to 2"),
    ],
)
def test_invalid_options_are_refused(
    validation: CrossValidation, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["crossval", str(validation.folder), *arguments]) == 2
    assert message in capsys.readouterr().err
