from pathlib import Path

import pytest

from cli.conftest import Fans
from worlds import write_walks


def test_search_ends_with_the_best_settings_and_the_best_model(fans: Fans, tmp_path: Path) -> None:
    corpus, out = write_walks(tmp_path / "corpus"), tmp_path / "out"
    code, printed, err = fans("tune", corpus, "--model", "ease", "--trials", 3, "--out", out)
    assert (code, err) == (0, "")
    lines = printed.splitlines()
    assert [line.split(":")[0] for line in lines[:3]] == ["trial 1", "trial 2", "trial 3"]
    assert lines[3].startswith("best of 3 trials: number ")
    assert lines[4].startswith("settings: --model ease --recipe paper --set regularization=")
    assert lines[5].endswith("--out RUN`, which fits to the training lists only")
    assert lines[6] == f"written: {out / 'model'}, the best model, fitted to the validation lists too"
    assert lines[-1] == f"Next: fans evaluate {out / 'model'} --corpus {corpus}"
    code, _, err = fans("train", corpus, "--config", out / "best.toml", "--out", tmp_path / "run")
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--time 10x", "--time is '10x'"),
        ("--model popularity", "popularity has no settings to search"),
        ("--model oracle", "there is no model 'oracle'"),
        ("--device cuda:3", "there is no device cuda:3 here"),
    ],
)
def test_wrong_options_are_refused_in_one_line(
    fans: Fans, tmp_path: Path, arguments: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    corpus = write_walks(tmp_path / "corpus")
    code, _, err = fans("tune", corpus, "--out", tmp_path / "out", *arguments.split())
    assert code == 2 and message in err and err.count("\n") == 1
    assert not (tmp_path / "out").exists()
