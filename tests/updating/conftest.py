"""Small models of lists with ids and titles, of items with names and groups."""

from dataclasses import replace
from pathlib import Path

import pytest

from artifacts import reseal, write_kind
from fansrec.artifact import Artifact, read_artifact
from fansrec.vocabulary import LISTS_FILE, ListNames
from worlds import walks


def write_songs(folder: Path, kind: str) -> Path:
    """Write a model of 40 lists, l0 to l39, and 60 items in 4 categories, i0 to i59, and return its folder."""
    corpus = walks(lists=40)
    names = [f"Song number {n}" for n in range(60)]
    vocabulary = replace(corpus.vocabulary, names=names, groups=[f"artist {n // 5}" for n in range(60)])
    write_kind(folder, kind, replace(corpus, vocabulary=vocabulary))
    (folder / LISTS_FILE).write_bytes(ListNames([f"l{n}" for n in range(40)], ["First"] + [None] * 39).file())
    reseal(folder)
    return folder


@pytest.fixture(scope="session")
def hybrid(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """Return a hybrid model with a list memory and a linear part."""
    return read_artifact(write_songs(tmp_path_factory.mktemp("hybrid"), "best"))


@pytest.fixture(scope="session")
def vstan(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return read_artifact(write_songs(tmp_path_factory.mktemp("vstan"), "vstan"))
