from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from training_runs import train
from worlds import SHORT, write_walks

Weights = Callable[..., bytes]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_walks(tmp_path_factory.mktemp("world") / "corpus")


@pytest.fixture(scope="session")
def weights(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Weights:
    """Return the weights file of an uninterrupted run with SHORT settings and these changes; trained once."""
    made: dict[str, bytes] = {}

    def trained(**changes: Any) -> bytes:
        key = repr(sorted(changes.items()))
        if key not in made:
            out = tmp_path_factory.mktemp("whole") / "run"
            train(corpus, out, "fans", SHORT | changes)
            made[key] = (out / "model.safetensors").read_bytes()
        return made[key]

    return trained
