import json
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Fans
from worlds import write_walks


def test_comparison_ends_with_the_command_that_serves_the_recommended_model(fans: Fans, tmp_path: Path) -> None:
    corpus = write_walks(tmp_path / "corpus")
    arguments = ("--out", tmp_path / "out", "--models", "popularity,ease", "--json", tmp_path / "rows.json")
    code, out, err = fans("compare", corpus, *arguments)
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads((tmp_path / "rows.json").read_text())
    assert [row["model"] for row in found["models"]] == ["ease", "popularity"]
    lines = out.splitlines()
    assert lines[-1] == f"Next: fans serve {found['run']}"
    assert "1 of 2: popularity" in lines and any(line.startswith("| EASE (best) ") for line in lines)
    assert f"written: {tmp_path / 'out' / 'comparison.png'}" in lines
    code, out, _ = fans("compare", corpus, *arguments)
    assert code == 0 and "2 of 2: ease" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--time soon", "--time is 'soon'; it must be a duration above 0 such as 90s, 10m or 2h"),
        ("--time 0", "--time is '0'"),
        ("--models oracle", "there is no model 'oracle'"),
        ("--models ease+width=3", "no setting 'width'"),
    ],
)
def test_wrong_options_are_refused_in_one_line(fans: Fans, tmp_path: Path, arguments: str, message: str) -> None:
    corpus = write_walks(tmp_path / "corpus")
    code, _, err = fans("compare", corpus, "--out", tmp_path / "out", *arguments.split())
    assert code == 2 and message in err and err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_file_that_is_not_a_comparison_is_not_replaced(fans: Fans, tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text("[1]")
    code, _, err = fans("compare", tmp_path, "--models", "popularity", "--json", tmp_path / "notes.json")
    assert code == 2 and "already exists" in err
    assert (tmp_path / "notes.json").read_text() == "[1]"
