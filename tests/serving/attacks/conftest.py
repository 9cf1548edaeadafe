"""One service that all tests of this folder attack; each test checks that it is unharmed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from serving.attacks.clients import HEADER_S, MAX_CONNECTIONS, Target, make_keys
from serving.service import Running


@pytest.fixture(scope="session")
def attacked(songs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    file = tmp_path_factory.mktemp("attacked") / "keys"
    keys = make_keys(file)
    settings = {"ALLOWED_HOSTS": "fans.example", "HEADER_TIMEOUT_S": HEADER_S, "BODY_TIMEOUT_S": HEADER_S}
    settings |= {"MAX_CONNECTIONS": MAX_CONNECTIONS, "TIMEOUT_MS": 60_000, "QUEUE_MS": 60_000}
    variables = {f"FANS_{name}": value for name, value in settings.items()}
    with Running(f"songs={songs / 'run'}", "--workers", 1, "--keys", file, **variables) as running:
        yield Target(running, keys)


@pytest.fixture
def target(attacked: Target) -> Iterator[Target]:
    yield attacked
    attacked.check_unharmed()
