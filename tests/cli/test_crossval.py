import json
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.crossval.conftest import in_turn  # noqa: F401
from worlds import write_walks

Fans = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_walks(tmp_path_factory.mktemp("crossval") / "walks", lists=40, shortest=10, longest=24)


def test_folds_cells_and_report_are_made_beside_the_corpus_and_go_on(fans: Fans, corpus: Path, tmp_path: Path) -> None:
    file = tmp_path / "new" / "result.json"
    words = ("crossval", corpus, "--models", "ease:paper,popularity", "--folds", 3, "--workers", 1, "--json", file)
    code, out, err = fans(*words)
    assert code == 0
    assert err.count("popularity:paper, seed 0") == 3 and "fold 2: " in err
    assert "| ease:paper " in out and f"written: {file}" in out
    found = json.loads(file.read_text())
    assert (found["folds"], found["part"], len(found["paired"])) == (3, "test", 8)
    assert all(row["lists"] == 40 for row in found["figures"] if row["way"] == "k fixed")
    assert file.with_suffix(".md").read_text().strip() in out
    assert file.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    folder = corpus.parent / "walks-crossval" / "3-folds-seed-0"
    assert len(list((folder / "cells").iterdir())) == 6

    before = {path: path.stat().st_mtime_ns for path in (folder / "cells").iterdir()}
    code, again, err = fans(*words)
    assert (code, err, again) == (0, "", out)
    assert {path: path.stat().st_mtime_ns for path in (folder / "cells").iterdir()} == before


@pytest.mark.usefixtures("in_turn")
def test_the_steps_can_be_done_apart_on_the_corpus_as_it_is(fans: Fans, corpus: Path, tmp_path: Path) -> None:
    words = ("crossval", corpus, "--models", "popularity", "--as-is", "--part", "valid", "--out", tmp_path / "out")
    assert fans(*words, "--only", "report")[0] == 2
    assert fans(*words, "--only", "folds")[0] == 0
    assert not (tmp_path / "out" / "cells").exists() and (tmp_path / "out" / "fold-0" / "summary.json").is_file()
    code, out, _ = fans(*words, "--only", "cells", "--device", "cpu")
    assert (code, "NDCG" in out) == (0, False)
    code, out, _ = fans(*words, "--only", "report")
    assert code == 0 and "valid lists of its own split" in out
    assert (tmp_path / "out" / "valid.json").is_file()


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (["--models", "bogus"], "there is no model 'bogus'"),
        (["--folds", 50], "40 lists are too few for 50 folds"),
        (["--folds", 0], "--folds 0: at least 3"),
        (["--folds", 3, "--as-is"], "leave out --folds"),
        (["--seeds", "x"], "--seeds x is no list"),
        (["--fold-numbers", "10"], "numbered 0 to 9"),
        (["--json", "result.md"], "let it end in .json"),
        (["--models", "ease:paper+wings=2"], "no setting 'wings'"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(
    fans: Fans, corpus: Path, tmp_path: Path, words: list[object], word: str
) -> None:
    models = [] if "--models" in words else ["--models", "popularity"]
    code, out, err = fans("crossval", corpus, *models, *words, "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert err.startswith("fans: ") and err.count("\n") == 1 and word in err
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("in_turn")
def test_cells_that_fail_are_named_at_the_end(fans: Fans, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "cells").write_text("in the way")
    words = ("--models", "popularity", "--as-is", "--out", tmp_path / "out", "--only", "cells", "--device", "cpu")
    code, _, err = fans("crossval", corpus, *words)
    assert code == 2
    assert "not finished: fold 0, popularity:paper, seed 0, test" in err
    assert err.splitlines()[-1].startswith("fans: 1 cells are not finished")


def test_the_help_teaches_by_an_example(fans: Fans) -> None:
    code, out, _ = fans("crossval", "--help")
    assert code == 0
    assert "Example: fans crossval" in out and "python -m fansrec.experiments crossval" in out
