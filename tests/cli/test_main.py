from collections.abc import Callable

import pytest

from fansrec import __version__
from fansrec.cli import main

Fans = Callable[..., tuple[int, str, str]]
VERBS = [
    "demo",
    "prepare",
    "train",
    "evaluate",
    "continue",
    "export",
    "crossval",
    "data list",
    "data fetch",
    "data describe",
    "bench training",
]


def test_the_version_is_printed(fans: Fans) -> None:
    assert fans("--version")[:2] == (0, __version__ + "\n")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(fans: Fans, verb: str) -> None:
    code, out, _ = fans(*verb.split(), "--help")
    assert code == 0
    assert "Usage: fans " + verb in out


@pytest.mark.parametrize("words", ["bogus", "train --splot", "train", "prepare x.csv --out y --split sideways"])
def test_a_wrong_word_is_refused_in_one_line(fans: Fans, words: str) -> None:
    code, _, err = fans(*words.split())
    assert code == 2
    assert err.startswith("fans: ") and err.count("\n") == 1


def test_a_missing_extra_is_named_with_what_to_install(fans: Fans, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'polars'", name="polars")

    monkeypatch.setattr(main, "app", lacks)
    code, _, err = fans("prepare")
    assert code == 2
    assert "pip install 'fansrec[train]'" in err


def test_any_other_missing_module_is_a_bug_and_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'fansrec.nowhere'", name="fansrec.nowhere")

    monkeypatch.setattr(main, "app", broken)
    with pytest.raises(ModuleNotFoundError):
        main.run()
