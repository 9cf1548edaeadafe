"""A local Ray of two cores, begun once for all tests of a process."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cluster.lists import of_one_machine, write_shard
from fansrec.cluster.connection import cluster


@pytest.fixture(scope="session")
def ray_local() -> Iterator[None]:
    with cluster(cpus=2):
        yield


@dataclass(frozen=True)
class Shards:
    run: Path  # a model
    folder: Path  # shards of lists for it
    answers: bytes  # what one machine answers


@pytest.fixture(scope="session")
def shards(songs: Path, tmp_path_factory: pytest.TempPathFactory) -> Shards:
    folder = tmp_path_factory.mktemp("shards")
    write_shard(folder / "a.jsonl", 12_000, seed=1)  # long enough for several pieces
    write_shard(folder / "b.jsonl", 500, seed=2)
    return Shards(songs / "run", folder, of_one_machine(songs / "run", folder))


@dataclass(frozen=True)
class TwoNodes:
    address: str
    kill_one: Callable[[], None]


@pytest.fixture
def two_nodes() -> Iterator[TwoNodes]:
    """A cluster of two machines of one core each, simulated here; drivers reach it from processes of their own."""
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        other = nodes.add_node(num_cpus=1)
        nodes.wait_for_nodes()
        yield TwoNodes(nodes.address, lambda: nodes.remove_node(other, allow_graceful=False))
    finally:
        nodes.shutdown()


@pytest.fixture
def fans() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """`fans …` as a process of its own, ended with the test."""
    begun: list[subprocess.Popen[str]] = []

    def begin(*arguments: object, **environment: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", "from fansrec.cli.main import run; run()", *map(str, arguments)]
        begun.append(
            subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
            )
        )
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()
        process.communicate()
