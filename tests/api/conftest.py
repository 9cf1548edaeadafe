"""A small model that tests of the Python API share."""

from pathlib import Path

import pytest

from fansrec.api.continuer import Continuer, load


@pytest.fixture(scope="session")
def songs_model(songs: Path) -> Continuer:
    return load(songs / "run")
