"""What the programs of examples/ are run against: a model, and a service that takes writes and events."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from artifacts import write_songs
from fansrec.serving.http.keys import new_key
from serving.service import Running


@dataclass
class Shop:
    """A running service, its keys by role, and the folder of its writes."""

    url: str
    keys: dict[str, str]
    writes: Path


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a model of lists l0 to l39 of songs i0 to i59, which can be updated and exported."""
    return write_songs(tmp_path_factory.mktemp("examples") / "model", "best")


@pytest.fixture(scope="session")
def shop(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """Serve the model as `mine`."""
    folder = tmp_path_factory.mktemp("shop")
    keys = {"use": new_key(folder / "keys", "app", "use"), "write": new_key(folder / "keys", "catalog", "write")}
    options = "--writes", folder / "writes", "--keys", folder / "keys", "--workers", 1
    with Running(f"mine={model}", *options) as running:
        yield Shop(running.url, keys, folder / "writes")
