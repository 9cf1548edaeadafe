"""The command line as a user meets it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fansrec.cli import main
from fansrec.data.corpus import Corpus, write_corpus
from fansrec.training.reporting import Silence
from fansrec.training.trainer import train
from fansrec.vocabulary import Vocabulary
from worlds import MINUTE, walks

Fans = Callable[..., tuple[int, str, str]]


@pytest.fixture
def fans(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Fans:
    """Runs `fans …`: exit code, output, errors."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["fans", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main.run()
        captured = capsys.readouterr()
        return int(end.value.code or 0), captured.out, captured.err

    return run


@pytest.fixture(scope="session")
def songs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus of items that have names and groups, and a model trained on it."""
    folder = tmp_path_factory.mktemp("songs")
    made = walks()
    ids = made.vocabulary.ids
    named: dict[str, Any] = {
        "names": [f"Song {n}" for n in range(len(ids))],
        "groups": [f"artist {n % 6}" for n in range(len(ids))],
    }
    vocabulary = Vocabulary(ids, made.vocabulary.starts, category_names=made.vocabulary.category_names, **named)
    write_corpus(folder / "corpus", Corpus(made.items, made.offsets, made.parts, vocabulary, made.summary))
    train(folder / "corpus", folder / "run", "fans", MINUTE, Silence())
    return folder


@pytest.fixture(scope="session")
def best(songs: Path) -> Path:
    """A model of `--recipe best`, trained on the same songs."""
    small = {"recipe": "best", "epochs": 2, "width": 8, "heads": 2, "feedforward": 8, "layers": 1}
    train(songs / "corpus", songs / "best", "fans", small, Silence())
    return songs / "best"
