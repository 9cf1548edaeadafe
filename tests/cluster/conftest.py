"""A local Ray with two cores, started once for all tests of a process, and simulated clusters."""

import gc
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import ray

from cluster.lists import of_one_machine, write_shard
from fansrec.cluster.connection import cluster

NORMAL_PRIORITY = {"RAY_worker_niceness": "0"}  # Ray's workers would otherwise get no time on a busy machine
OUTSIDE = dict(os.environ) | NORMAL_PRIORITY  # the environment of other processes, without the token of the local Ray
TWO_NODES = Path(__file__).with_name("two_nodes.py")
RELEASE_SECONDS = 180
START_ATTEMPTS = 5


@pytest.fixture(scope="session")
def ray_local() -> Iterator[None]:
    """Start a private Ray although RAY_AUTH_MODE is disabled in the environment."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (NORMAL_PRIORITY | {"RAY_AUTH_MODE": "disabled"}).items():
            patch.setenv(name, value)
        with cluster(cpus=2):
            yield


@pytest.fixture(scope="module")
def two_free_cores(ray_local: None) -> None:
    """Wait until nothing occupies the cores of the local Ray; work that lacks one would wait forever.

    The traceback of an error in a worker is part of a reference cycle, which keeps the worker alive.
    """
    deadline = time.monotonic() + RELEASE_SECONDS
    while ray.available_resources().get("CPU") != 2:
        assert time.monotonic() < deadline, "an earlier test left a worker of Ray running"
        gc.collect()
        time.sleep(0.1)


@dataclass(frozen=True)
class Shards:
    run: Path  # a model
    folder: Path  # shards of lists for it
    answers: bytes  # of one machine


@pytest.fixture(scope="session")
def shards(songs: Path, tmp_path_factory: pytest.TempPathFactory) -> Shards:
    folder = tmp_path_factory.mktemp("shards")
    write_shard(folder / "a.jsonl", 12_000, seed=1)  # long enough for several pieces
    write_shard(folder / "b.jsonl", 500, seed=2)
    return Shards(songs / "run", folder, of_one_machine(songs / "run", folder))


@dataclass(frozen=True)
class TwoNodes:
    address: str
    environment: dict[str, str]  # of a driver, with the token
    kill_one: Callable[[], None]
    add_one: Callable[[], None]


@contextmanager
def simulated_cluster() -> Iterator[TwoNodes]:
    """Simulate a cluster of two machines with one core each, which requires a token, in another process."""
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    for _ in range(START_ATTEMPTS):
        process = subprocess.Popen([sys.executable, TWO_NODES], env=OUTSIDE | token, **pipes)
        if address := process.stdout.readline().strip():
            break
        process.communicate()  # Ray waits 30 seconds for its processes, which a busy machine may exceed
    with process:
        assert process.stdin and process.stdout

        def order(what: str) -> None:
            print(what, file=process.stdin, flush=True)
            assert process.stdout.readline() == "done\n"

        yield TwoNodes(address, token, partial(order, "kill"), partial(order, "add"))
        process.stdin.close()  # ends the cluster


@pytest.fixture
def two_nodes() -> Iterator[TwoNodes]:
    with simulated_cluster() as nodes:
        yield nodes


@contextmanager
def commands() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Yield a function that runs `fans …` in another process, which is ended with the block."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object, **environment: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", "from fansrec.cli.main import run; run()", *map(str, arguments)]
        started.append(
            subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=OUTSIDE | {"OMP_NUM_THREADS": "1"} | environment,
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def fans() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    with commands() as start:
        yield start
