"""Errors on a cluster are reported in one line."""

import json
import os
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from ray import exceptions

from fansrec.cluster import connection
from fansrec.cluster.connection import cluster
from fansrec.cluster.errors import ray_errors, root_cause, to_fans_error, worker_storage_errors
from fansrec.errors import BadInput, BadSetting, Unfinished

Fans = Callable[..., subprocess.Popen[str]]


def refused(fans: Fans, run: Path, tmp_path: Path, address: str, **environment: str) -> str:
    """Return the one line that `fans continue` prints on stderr."""
    (tmp_path / "lists.jsonl").write_text('["i1"]\n')
    where = ["--input", tmp_path / "lists.jsonl", "--output", tmp_path / "out", "--engine", "ray"]
    command = fans("continue", run, *where, "--address", address, **environment)
    output, errors = command.communicate(timeout=300)
    assert (command.returncode, output) == (2, "")
    assert errors.count("\n") == 1 and errors.startswith("fans: ")
    assert not (tmp_path / "out").exists()
    return errors


def test_no_cluster_at_the_address(fans: Fans, songs: Path, tmp_path: Path) -> None:
    assert "fans: there is no Ray cluster at 127.0.0.1:9 (" in refused(fans, songs / "run", tmp_path, "127.0.0.1:9")


def test_another_service_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(BadSetting, match=f"no Ray cluster at {address} .another service listens there"):
            connection.token_for(address)


@pytest.fixture
def older(ray_local: None) -> Iterator[str]:
    """Return the address of a cluster that reports another version of Ray."""
    store, key = ray.get_runtime_context().worker.gcs_client, b"CLUSTER_METADATA"
    true = store.internal_kv_get(key, namespace=b"cluster")
    other = json.loads(true) | {"ray_version": "2.9.0"}
    store.internal_kv_put(key, json.dumps(other).encode(), True, namespace=b"cluster")
    yield ray.get_runtime_context().gcs_address
    store.internal_kv_put(key, true, True, namespace=b"cluster")


def test_given_cluster_that_refuses_the_token_is_reported_in_one_line(
    ray_local: None, fans: Fans, songs: Path, tmp_path: Path
) -> None:
    address = ray.get_runtime_context().gcs_address
    message = refused(fans, songs / "run", tmp_path, address, RAY_AUTH_TOKEN="wrong")
    assert f"the cluster at {address} refuses the token from RAY_AUTH_TOKEN; use the token" in message
    assert "wrong" not in message


def test_a_cluster_of_another_version(fans: Fans, songs: Path, tmp_path: Path, older: str) -> None:
    message = refused(fans, songs / "run", tmp_path, older, **os.environ)  # which has the token
    assert (
        f"the cluster at {older} runs other versions" in message and "2.9.0" in message and ray.__version__ in message
    )


class Raising:
    def __init__(self, event: str) -> None:
        self.event = event

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        if self.event == "refuse":
            raise BadInput("lists.jsonl, line 7: no list")
        if self.event == "miss":
            with worker_storage_errors():
                Path("/nowhere/at/all").read_text()
        if self.event == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        raise ZeroDivisionError


def mapped(event: str) -> None:
    with cluster(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = ray.data.from_items([{"i": 0}])
        for _ in data.map(Raising, fn_constructor_args=(event,), concurrency=1, max_restarts=1).iter_rows():
            pass


@pytest.mark.parametrize(
    ("event", "kind", "message"),
    [
        ("refuse", BadInput, "lists.jsonl, line 7: no list"),
        ("miss", Unfinished, f"/nowhere/at/all: No such file or directory (on {socket.gethostname()}); finished work"),
        pytest.param("die", Unfinished, "a worker was killed or crashed repeatedly", marks=pytest.mark.long),
    ],
    ids=["refuse", "miss", "die"],
)
def test_errors_in_a_worker_are_reported_in_one_line(
    ray_local: None, capfd: pytest.CaptureFixture[str], event: str, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as raised:
        mapped(event)
    assert type(raised.value) is kind
    assert str(raised.value).startswith(message) and "\n" not in str(raised.value)
    assert capfd.readouterr() == ("", "")


def test_error_of_the_driver_keeps_its_message() -> None:
    refused = BadSetting("choose another path")
    refused.__cause__ = NotADirectoryError()
    with pytest.raises(BadSetting, match=r"^choose another path$"), ray_errors():
        raise refused


def test_bug_is_raised_unchanged(ray_local: None) -> None:
    with pytest.raises(ZeroDivisionError):
        mapped("divide")


# The raylet kills a worker when memory use exceeds a threshold, here a little above the current use.
GREEDY = """
import os, psutil, time
memory = psutil.virtual_memory()
os.environ["RAY_memory_usage_threshold"] = str((memory.total - memory.available + 2**29) / memory.total)
os.environ["RAY_memory_monitor_refresh_ms"] = "100"
from fansrec.cluster.connection import cluster
import ray

@ray.remote(max_restarts=0)
class Greedy:
    def eat(self):
        self.meal = b"x" * 2**30
        time.sleep(600)

with cluster(cpus=1):
    ray.get(Greedy.remote().eat.remote())
"""


@pytest.mark.long  # and needs the memory use of other programs to be stable
def test_a_worker_out_of_memory() -> None:
    done = subprocess.run([sys.executable, "-c", GREEDY], capture_output=True, text=True, timeout=300)
    assert done.stderr.splitlines()[-1].startswith(
        "fansrec.errors.Unfinished: a worker ran out of memory; give it more, or use fewer workers per machine; fin"
    )


def test_lost_object_and_lost_machine_advise_a_rerun() -> None:
    for error in (exceptions.ObjectLostError("ab", "me", "there"), exceptions.NodeDiedError("gone")):
        assert str(to_fans_error(error)).endswith("finished work is kept, run the same command again")


def test_root_cause_of_a_task_error() -> None:
    inner = BadInput("no list")
    assert root_cause(exceptions.RayTaskError("f", "trace", inner)) is inner
