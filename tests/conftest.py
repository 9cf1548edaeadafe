"""What several tests share."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def real_data() -> Callable[[str], Path]:
    """Finds a file of the public sets by its path in $FANS_DATA; without it a test is skipped, but never in CI."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("FANS_DATA") or beside)

    def locate(name: str) -> Path:
        if not (folder / name).is_file():
            word = f"the public file {name} is not in {folder}; set FANS_DATA to the folder that has it"
            if os.environ.get("CI"):
                pytest.fail(word)
            pytest.skip(word)
        return folder / name

    return locate
