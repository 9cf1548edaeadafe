"""A local Ray of two cores, begun once for all tests of a process."""

from collections.abc import Iterator

import pytest

from fansrec.cluster.connection import cluster


@pytest.fixture(scope="session")
def ray_local() -> Iterator[None]:
    with cluster(cpus=2):
        yield
