"""Small models of lists with ids and titles, of items with names and groups."""

import pytest

from artifacts import write_songs
from fansrec.artifact import Artifact, read_artifact


@pytest.fixture(scope="session")
def hybrid(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """Return a hybrid model with a list memory and a linear part."""
    return read_artifact(write_songs(tmp_path_factory.mktemp("hybrid"), "best"))


@pytest.fixture(scope="session")
def vstan(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return read_artifact(write_songs(tmp_path_factory.mktemp("vstan"), "vstan"))
