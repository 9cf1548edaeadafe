"""A service started as the chart starts it: its probes, its signals, its folders and its keys."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from artifacts import write_songs
from deploy.chart import WRITES, environment, pod_of, render
from fansrec.serving.http.keys import new_key
from serving.service import DEADLINE_S, PATIENT, Running, until

READ_ONLY = Path(__file__).parent / "read_only"
VALUES = WRITES | {"settings": {"notice_s": DEADLINE_S, "workers": 1}}


@dataclass
class Pod:
    running: Running
    root: Path  # of the volumes
    container: dict[str, Any]
    keys: dict[str, str]

    def probe(self, kind: str) -> int:
        """Return the status that a probe of the chart gets."""
        get = self.container[f"{kind}Probe"]["httpGet"]
        assert get["port"] == self.container["ports"][0]["name"] and get.get("scheme", "HTTP") == "HTTP"
        headers = {"Host": "10.1.2.3:8080", "User-Agent": "kube-probe/1.33"}  # as the kubelet sends it
        return httpx2.get(self.running.url + get["path"], headers=headers, timeout=DEADLINE_S).status_code

    def send(self, method: str, path: str, role: str, **more: Any) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self.keys[role]}"}
        return self.running.http.request(method, path, headers=headers, **more)

    def attempts(self) -> str:
        """Return what the processes tried to write outside of writable volumes."""
        return (self.root / "attempts").read_text()


def mount_secret(volume: Path, version: str, file: Path) -> None:
    """Write or replace a Secret as the kubelet does: by a link to a folder that is renamed into place."""
    (volume / version).mkdir(parents=True)
    (volume / version / "fans.keys").write_bytes(file.read_bytes())
    (volume / "..new").symlink_to(version)
    (volume / "..new").rename(volume / "..data")
    if not (volume / "fans.keys").is_symlink():
        (volume / "fans.keys").symlink_to("..data/fans.keys")


@pytest.fixture(scope="module")
def pod(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pod]:
    """Return a service with the variables and volumes of the chart, on loopback and on a free port."""
    root = tmp_path_factory.mktemp("pod")
    manifests = render(**VALUES)
    (container,) = pod_of(manifests)["containers"]
    mounts = {mount["mountPath"]: root / mount["name"] for mount in container["volumeMounts"]}
    for folder in mounts.values():
        folder.mkdir()
    write_songs(mounts["/models"] / "current", "best")
    keys = {role: new_key(root / "fans.keys", role, role) for role in ("use", "write")}
    mount_secret(mounts["/keys"], "..1", root / "fans.keys")
    pattern = re.compile("|".join(map(re.escape, mounts)))
    variables = {
        name: pattern.sub(lambda found: str(mounts[found[0]]), value)
        for name, value in (environment(manifests) | {"FANS_HOST": "127.0.0.1", "FANS_PORT": "0"} | PATIENT).items()
    }
    writable = [mounts[one["mountPath"]] for one in container["volumeMounts"] if not one.get("readOnly")]
    variables |= {
        "WRITABLE": os.pathsep.join(map(str, writable)),
        "ATTEMPTS": str(root / "attempts"),
        "PYTHONPATH": str(READ_ONLY),
        "PYTHONDONTWRITEBYTECODE": "1",  # as the image sets it
        "TMPDIR": str(mounts["/tmp"]),
        "HOME": "/nonexistent",
    }
    with Running(**variables) as running:
        yield Pod(running, root, container, keys)


def test_the_file_system_of_these_tests_is_read_only(tmp_path: Path) -> None:
    variables = {
        "PYTHONPATH": str(READ_ONLY),
        "WRITABLE": str(tmp_path / "may"),
        "ATTEMPTS": str(tmp_path / "attempts"),
    }
    (tmp_path / "may").mkdir()
    code = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text('a')"
    for folder, expected in (("may", 0), (".", 1)):
        done = subprocess.run([sys.executable, "-c", code, tmp_path / folder / "a"], env=os.environ | variables)
        assert done.returncode == expected
    assert (tmp_path / "attempts").read_text() == f"open {tmp_path}/a\n"


def test_probes_succeed_while_the_service_is_ready(pod: Pod) -> None:
    assert [pod.probe(kind) for kind in ("startup", "liveness", "readiness")] == [200] * 3


def test_the_service_writes_only_into_the_volumes_for_that(pod: Pod) -> None:
    continued = pod.send("POST", "/v1/continue", "use", json={"lists": [["i1"]], "k": 3})
    assert continued.status_code == 200, continued.text
    written = pod.send("POST", "/v1/lists", "write", json={"lists": [{"id": "new", "items": ["i1", "i2"]}]})
    assert written.status_code == 200, written.text
    assert until(lambda: pod.send("GET", "/v1/items?search=song", "use").status_code == 200)  # builds the search index
    assert until(lambda: any((pod.root / "indexes").rglob("*")))
    assert any((pod.root / "writes").rglob("*")) and any((pod.root / "tmp").rglob("*"))
    assert not pod.attempts()


def test_a_key_that_is_added_to_the_secret_is_accepted(pod: Pod) -> None:
    pod.keys["added"] = new_key(pod.root / "fans.keys", "added", "use")
    assert pod.send("GET", "/v1/models", "added").status_code == 401
    mount_secret(pod.root / "keys", "..2", pod.root / "fans.keys")
    assert until(lambda: pod.send("GET", "/v1/models", "added").status_code == 200)


def test_after_sigterm_the_service_is_not_ready_but_alive_and_answers_for_its_notice(pod: Pod) -> None:
    process = pod.running.process
    process.terminate()
    assert until(lambda: pod.probe("readiness") == 503)
    assert pod.probe("liveness") == 200
    answer = pod.send("POST", "/v1/continue", "use", json={"lists": [["i1"]], "k": 3})
    assert answer.status_code == 200 and answer.headers["connection"] == "close"
    process.terminate()  # the second signal ends the notice
    assert process.wait(DEADLINE_S) == 0
    assert not pod.attempts()
