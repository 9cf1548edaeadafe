"""What goes wrong on a cluster is told in one line."""

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
from fansrec.cluster.troubles import cause_of, in_plain_words, refusal, said_by_worker
from fansrec.errors import BadInput, BadSetting, Unfinished

Fans = Callable[..., subprocess.Popen[str]]


def refused(fans: Fans, run: Path, tmp_path: Path, address: str, **environment: str) -> str:
    """The one line that `fans continue` says, and nothing else."""
    (tmp_path / "lists.jsonl").write_text('["i1"]\n')
    where = ["--input", tmp_path / "lists.jsonl", "--output", tmp_path / "out", "--engine", "ray"]
    command = fans("continue", run, *where, "--address", address, **environment)
    said, errors = command.communicate(timeout=300)
    assert (command.returncode, said) == (2, "")
    assert errors.count("\n") == 1 and errors.startswith("fans: ")
    assert not (tmp_path / "out").exists()
    return errors


def test_nobody_at_the_address(fans: Fans, songs: Path, tmp_path: Path) -> None:
    assert "fans: there is no Ray cluster at 127.0.0.1:9 (" in refused(fans, songs / "run", tmp_path, "127.0.0.1:9")


def test_somebody_else_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(BadSetting, match=f"no Ray cluster at {address} .what listens there is no Ray"):
            connection.token_for(address)


@pytest.fixture
def older(ray_local: None) -> Iterator[str]:
    """A cluster that says of itself that it runs another Ray."""
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
    said = refused(fans, songs / "run", tmp_path, address, RAY_AUTH_TOKEN="wrong")
    assert f"the cluster at {address} refuses the token from RAY_AUTH_TOKEN; use the token" in said
    assert "wrong" not in said


def test_a_cluster_of_another_version(fans: Fans, songs: Path, tmp_path: Path, older: str) -> None:
    told = refused(fans, songs / "run", tmp_path, older, **os.environ)  # which has the token
    assert f"the cluster at {older} runs other versions" in told and "2.9.0" in told and ray.__version__ in told


class Raising:
    def __init__(self, what: str) -> None:
        self.what = what

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        if self.what == "refuse":
            raise BadInput("lists.jsonl, line 7: no list")
        if self.what == "miss":
            with said_by_worker():
                Path("/nowhere/at/all").read_text()
        if self.what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        raise ZeroDivisionError


def mapped(what: str) -> None:
    with cluster(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = ray.data.from_items([{"i": 0}])
        for _ in data.map(Raising, fn_constructor_args=(what,), concurrency=1, max_restarts=1).iter_rows():
            pass


@pytest.mark.parametrize(
    ("what", "kind", "told"),
    [
        ("refuse", BadInput, "lists.jsonl, line 7: no list"),
        ("miss", Unfinished, f"/nowhere/at/all: No such file or directory (on {socket.gethostname()}); what is done"),
        pytest.param("die", Unfinished, "a worker died again and again, killed or crashed", marks=pytest.mark.long),
    ],
    ids=["refuse", "miss", "die"],
)
def test_what_happens_in_a_worker_comes_out_as_one_line(
    ray_local: None, capfd: pytest.CaptureFixture[str], what: str, kind: type[Exception], told: str
) -> None:
    with pytest.raises(kind) as raised:
        mapped(what)
    assert type(raised.value) is kind
    assert str(raised.value).startswith(told) and "\n" not in str(raised.value)
    assert capfd.readouterr() == ("", "")


def test_what_the_driver_refuses_keeps_its_words() -> None:
    refused = BadSetting("choose another place")
    refused.__cause__ = NotADirectoryError()
    with pytest.raises(BadSetting, match=r"^choose another place$"), in_plain_words():
        raise refused


def test_a_bug_stays_what_it_is(ray_local: None) -> None:
    with pytest.raises(ZeroDivisionError):
        mapped("divide")


# The raylet kills a worker when the machine's memory is used beyond a share; a little beyond what is used already here.
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


@pytest.mark.long  # and wants the memory that other programs use to stay about the same
def test_a_worker_out_of_memory() -> None:
    done = subprocess.run([sys.executable, "-c", GREEDY], capture_output=True, text=True, timeout=300)
    assert done.stderr.splitlines()[-1].startswith(
        "fansrec.errors.Unfinished: a worker ran out of memory; give it more, or use fewer workers a machine; what is"
    )


def test_a_lost_object_and_a_lost_machine_say_to_run_again() -> None:
    for error in (exceptions.ObjectLostError("ab", "me", "there"), exceptions.NodeDiedError("gone")):
        assert str(refusal(error)).endswith("what is done is kept, run the same command again")


def test_the_cause_is_found_behind_what_a_task_raised() -> None:
    inner = BadInput("no list")
    assert cause_of(exceptions.RayTaskError("f", "trace", inner)) is inner
