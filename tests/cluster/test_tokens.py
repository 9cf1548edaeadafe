"""Access to a local Ray, and the token that is sent to a cluster at an address."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest
import ray
from ray.core.generated import gcs_service_pb2, gcs_service_pb2_grpc

from cluster.conftest import OUTSIDE
from fansrec.cluster.connection import token_for
from fansrec.errors import BadSetting

# Another process connects as Ray's own clients do, and has Ray write a file. Loopback needs the variable, since Ray
# turns it into the machine's address otherwise.
ATTACK = """
import logging, socket, sys
from pathlib import Path
host, port, target = sys.argv[1:]
try:
    socket.create_connection((host, int(port)), 60).close()
except OSError:
    sys.exit("not reachable")
import ray
ray.init(address=f"{host}:{port}", logging_level=logging.CRITICAL, log_to_driver=False)
ray.get(ray.remote(lambda: Path(target).write_text("ran")).remote())
"""
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
RESTORED = """
import os
from fansrec.cluster.tokens import private_ray
from ray._raylet import AuthenticationMode, get_authentication_mode
os.environ |= {"RAY_AUTH_MODE": "disabled", "RAY_AUTH_TOKEN_PATH": "/mine"}
before, tokens = dict(os.environ), set()
for _ in range(2):
    with private_ray():
        assert get_authentication_mode() == AuthenticationMode.TOKEN
        assert "RAY_AUTH_TOKEN_PATH" not in os.environ
        tokens.add(os.environ["RAY_AUTH_TOKEN"])
    assert dict(os.environ) == before
    assert get_authentication_mode() == AuthenticationMode.DISABLED
assert len(tokens) == 2 and all(len(token) == 64 for token in tokens)
"""


def machine_address() -> str:
    """Return the address of this machine on a network, loopback if it has none."""
    found = [row.address for rows in psutil.net_if_addrs().values() for row in rows if row.family == socket.AF_INET]
    return next((address for address in found if not address.startswith("127.")), "127.0.0.1")


def ray_processes() -> list[psutil.Process]:
    return [psutil.Process(), *psutil.Process().children(recursive=True)]


@pytest.mark.usefixtures("ray_local")
def test_other_process_cannot_run_code_on_local_ray(tmp_path: Path) -> None:
    port = ray.get_runtime_context().gcs_address.rpartition(":")[2]
    right = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": os.environ["RAY_AUTH_TOKEN"]} | LOOPBACK
    attackers = {
        "over the network": (machine_address(), {}),
        "over the network, with a wrong token": (machine_address(), {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "x"}),
        "over loopback": ("127.0.0.1", LOOPBACK),
        "with a wrong token": ("127.0.0.1", right | {"RAY_AUTH_TOKEN": "0" * 64}),
        "with the token": ("127.0.0.1", right),
    }
    processes = {
        name: subprocess.Popen(
            [sys.executable, "-c", ATTACK, host, port, str(tmp_path / name)],
            env=OUTSIDE | {"HOME": str(tmp_path)} | environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, (host, environment) in attackers.items()
    }
    assert ray.get(ray.remote(lambda: "own work").remote(), timeout=300) == "own work"
    ended = {name: process.communicate(timeout=300)[1] for name, process in processes.items()}
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["with the token"], ended
    assert {name for name, process in processes.items() if process.returncode == 0} == {"with the token"}, ended


@pytest.mark.usefixtures("ray_local")
def test_local_ray_listens_on_loopback_only() -> None:
    ray.get(ray.remote(lambda: None).remote(), timeout=300)
    listening = {
        (connection.laddr.ip, process.name())
        for process in ray_processes()
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN and process.pid != os.getpid()
    }
    assert {"raylet", "gcs_server"} <= {name for _, name in listening}
    assert {address for address, _ in listening} <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}, listening


@pytest.mark.usefixtures("ray_local")
def test_token_is_in_no_command_line_and_no_log() -> None:
    token = os.environ["RAY_AUTH_TOKEN"]
    ray.get(ray.remote(lambda: None).remote(), timeout=300)
    assert not [process for process in ray_processes() if token in " ".join(process.cmdline())]
    logs = [path for path in Path(ray._private.worker._global_node.get_logs_dir_path()).rglob("*") if path.is_file()]
    assert logs and not [path for path in logs if token.encode() in path.read_bytes()]


def test_environment_is_restored_after_a_local_ray() -> None:
    subprocess.run([sys.executable, "-c", RESTORED], env=OUTSIDE, check=True, timeout=300)


class Gcs(gcs_service_pb2_grpc.NodeInfoGcsServiceServicer):
    """A cluster that requires a token, unless it is None."""

    def __init__(self, token: str | None) -> None:
        self.token, self.sent = token, list[str]()

    def CheckAlive(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.sent += [str(value) for key, value in context.invocation_metadata() if key == "authorization"]
        if self.token and f"Bearer {self.token}" not in self.sent:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "InvalidAuthToken")
        return gcs_service_pb2.CheckAliveReply()


@contextmanager
def running(gcs: Gcs) -> Iterator[str]:
    server = grpc.server(futures.ThreadPoolExecutor(2))
    gcs_service_pb2_grpc.add_NodeInfoGcsServiceServicer_to_server(gcs, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without a token, and no token in the environment."""
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ray").mkdir()
    return tmp_path


def in_variable(home: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("RAY_AUTH_TOKEN", "secret")


def in_named_file(home: Path, patch: pytest.MonkeyPatch) -> None:
    (home / "mine").write_text("secret\n")
    patch.setenv("RAY_AUTH_TOKEN_PATH", str(home / "mine"))


def in_default_file(home: Path, patch: pytest.MonkeyPatch) -> None:
    (home / ".ray" / "auth_token").write_text("secret\n")


@pytest.mark.parametrize("place", [in_variable, in_named_file, in_default_file])
def test_given_cluster_gets_the_token_of_the_user(
    place: Callable[..., None], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(home, monkeypatch)
    with running(Gcs("secret")) as address:
        assert token_for(address) == "secret"


def test_token_is_not_sent_to_a_cluster_that_does_not_require_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "secret")
    gcs = Gcs(None)
    with running(gcs) as address:
        assert token_for(address) is None
    assert gcs.sent == []


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "requires a token and none was given; set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH, or copy"),
        ({"RAY_AUTH_TOKEN": "secret", "RAY_AUTH_MODE": "disabled"}, "and unset RAY_AUTH_MODE, which is disabled$"),
        ({"RAY_AUTH_TOKEN": "other"}, "refuses the token from RAY_AUTH_TOKEN; use the token that the cluster was"),
        ({"RAY_AUTH_TOKEN_PATH": "/nowhere/x"}, "token in /nowhere/x cannot be read .No such file or directory.; "),
        (
            {"RAY_AUTH_TOKEN": "\u00e9"},
            "token in RAY_AUTH_TOKEN is not a line of ASCII characters; create it again",
        ),
    ],
    ids=["none", "disabled", "wrong", "missing file", "not ASCII"],
)
def test_refused_or_missing_token_is_reported_in_one_line(
    environment: dict[str, str], message: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with running(Gcs("secret")) as address, pytest.raises(BadSetting, match=message) as refused:
        token_for(address)
    assert "\n" not in str(refused.value) and "secret" not in str(refused.value) and "other" not in str(refused.value)
