"""A valid model folder of every kind, to be changed by tests."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from artifacts import write_kind

Copy = Callable[[str], Path]


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    folder = tmp_path_factory.mktemp("kinds")
    return cache(lambda kind: write_kind(folder / kind, kind))


@pytest.fixture
def copy_of(originals: Copy, tmp_path: Path) -> Copy:
    """Return a fresh copy of the folder of a kind."""

    def make(kind: str) -> Path:
        shutil.rmtree(tmp_path / kind, ignore_errors=True)
        return Path(shutil.copytree(originals(kind), tmp_path / kind))

    return make
