"""Services that several tests use; each is started once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from serving.service import Running


@pytest.fixture(scope="session")
def service(songs: Path, best: Path) -> Iterator[Running]:
    """Two models, one of them in two generation modes, with the default limits, and a split of clients."""
    models = f"fans={songs / 'run'}", f"best={best}", f"recall={songs / 'run'}@recall"
    with Running(*models, "--split", "fans:75,best:25", "--workers", 2) as running:
        yield running


@pytest.fixture(scope="session")
def narrow(songs: Path) -> Iterator[Running]:
    """One model with small limits."""
    limits = {"LISTS": 3, "ITEMS": 5, "K": 7, "RULE_ITEMS": 4, "BODY_BYTES": 2000, "UNPACKED_BYTES": 3000}
    with Running(
        songs / "run", "--workers", "1", **{f"FANS_MAX_{name}": value for name, value in limits.items()}
    ) as running:
        yield running
