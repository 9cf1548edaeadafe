import json
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.crossval.conftest import in_process  # noqa: F401
from worlds import write_walks

Fans = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_walks(tmp_path_factory.mktemp("crossval") / "walks", lists=40, shortest=10, longest=24)


def test_folds_cells_and_report_are_written_beside_the_corpus_and_reused(
    fans: Fans, corpus: Path, tmp_path: Path
) -> None:
    file = tmp_path / "new" / "result.json"
    arguments = ("crossval", corpus, "--models", "ease:paper,popularity", "--folds", 3, "--workers", 1, "--json", file)
    code, out, err = fans(*arguments)
    assert code == 0
    assert err.count("popularity:paper, seed 0") == 3 and "fold 2: " in err
    assert "| ease:paper " in out and f"written: {file}" in out
    found = json.loads(file.read_text())
    assert (found["folds"], found["part"], len(found["paired"])) == (3, "test", 12)
    assert all(row["lists"] == 40 for row in found["figures"] if row["way"] == "k fixed")
    assert file.with_suffix(".md").read_text().strip() in out
    assert file.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    folder = corpus.parent / "walks-crossval" / "3-folds-seed-0"
    assert len(list((folder / "cells").iterdir())) == 6

    before = {path: path.stat().st_mtime_ns for path in (folder / "cells").iterdir()}
    code, again, err = fans(*arguments)
    assert (code, err, again) == (0, "", out)
    assert {path: path.stat().st_mtime_ns for path in (folder / "cells").iterdir()} == before

    file.write_text("[1]")  # not a result of this command
    code, _, err = fans(*arguments)
    assert code == 2 and "give --force to replace it" in err and file.read_text() == "[1]"


@pytest.mark.usefixtures("in_process")
def test_steps_can_be_run_separately_on_the_own_split(fans: Fans, corpus: Path, tmp_path: Path) -> None:
    arguments = ("crossval", corpus, "--models", "popularity", "--as-is", "--part", "valid", "--out", tmp_path / "out")
    assert fans(*arguments, "--only", "report")[0] == 2
    assert fans(*arguments, "--only", "folds")[0] == 0
    assert not (tmp_path / "out" / "cells").exists() and (tmp_path / "out" / "fold-0" / "summary.json").is_file()
    code, out, _ = fans(*arguments, "--only", "cells", "--device", "cpu")
    assert (code, "NDCG" in out) == (0, False)
    code, out, _ = fans(*arguments, "--only", "report")
    assert code == 0 and "valid lists of its own split" in out
    assert (tmp_path / "out" / "valid.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", "bogus"], "there is no model 'bogus'"),
        (["--folds", 50], "40 lists are too few for 50 folds"),
        (["--folds", 0], "--folds 0: at least 3"),
        (["--folds", 3, "--as-is"], "leave out --folds"),
        (["--seeds", "x"], "--seeds x is not a comma-separated list"),
        (["--fold-numbers", "10"], "numbered 0 to 9"),
        (["--json", "result.md"], "end it in .json"),
        (["--models", "ease:paper+wings=2"], "no setting 'wings'"),
    ],
)
def test_invalid_options_are_refused_in_one_line(
    fans: Fans, corpus: Path, tmp_path: Path, arguments: list[object], message: str
) -> None:
    models = [] if "--models" in arguments else ["--models", "popularity"]
    code, out, err = fans("crossval", corpus, *models, *arguments, "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert err.startswith("fans: ") and err.count("\n") == 1 and message in err
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("in_process")
def test_failed_cells_are_named_at_the_end(fans: Fans, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "cells").write_text("in the way")
    arguments = ("--models", "popularity", "--as-is", "--out", tmp_path / "out", "--only", "cells", "--device", "cpu")
    code, _, err = fans("crossval", corpus, *arguments)
    assert code == 2
    assert "not finished: fold 0, popularity:paper, seed 0, test" in err
    assert err.splitlines()[-1].startswith("fans: 1 cells did not finish")


def test_help_shows_the_use_of_a_bare_gpu_machine(fans: Fans) -> None:
    code, out, _ = fans("crossval", "--help")
    assert code == 0
    assert "Example: fans crossval" in out and "python -m fansrec.experiments crossval" in out
