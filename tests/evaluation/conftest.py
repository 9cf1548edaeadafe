"""Small trained models for the tests of evaluation."""

from pathlib import Path

import pytest

from fansrec.artifact import Artifact
from fansrec.data.corpus import Corpus, read_corpus
from fansrec.evaluation.rows import open_run
from training_runs import train
from worlds import MINUTE, write_walks


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two corpora, `corpus` and `short`, whose targets never have 10 items, and trained models."""
    folder = tmp_path_factory.mktemp("world")
    write_walks(folder / "corpus", shortest=6, longest=24)
    write_walks(folder / "short", shortest=6, longest=12)
    train(folder / "corpus", folder / "fans", "fans", MINUTE)
    train(folder / "corpus", folder / "popularity", "popularity", {})
    train(folder / "short", folder / "popularity-short", "popularity", {})
    return folder


@pytest.fixture(scope="session")
def corpus(world: Path) -> Corpus:
    return read_corpus(world / "corpus")


@pytest.fixture(scope="session")
def fans_run(world: Path, corpus: Corpus) -> Artifact:
    return open_run(world / "fans", corpus)


@pytest.fixture(scope="session")
def popularity_run(world: Path, corpus: Corpus) -> Artifact:
    return open_run(world / "popularity", corpus)
