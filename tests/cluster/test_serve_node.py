"""The service of one machine, without Ray: restarts, reloads, replacements, and its end."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from fansrec.cluster.serving.node import Node
from fansrec.errors import BadArtifact, BadInput, BadSetting
from fansrec.serving.processes.channel import Message
from fansrec.serving.settings import read_settings
from serving.service import PATIENT, descendants, free_ports, until

VALUES = {name.removeprefix("FANS_").lower(): int(value) for name, value in PATIENT.items()}
DIES = """
import json, os, sys
from fansrec.cluster.serving.node import Node
node = Node()
node.deploy(json.loads(sys.argv[1]))
print(node.status()["pid"], flush=True)
os.kill(os.getpid(), 9)
"""


class Deployed:
    """A node and what it serves: a link to a model."""

    def __init__(self, folder: Path, songs: Path) -> None:
        self.node, self.link, self.songs = Node(), folder / "current", songs
        self.port = free_ports()
        self.point_to("run")

    def point_to(self, run: str) -> None:
        self.link.unlink(missing_ok=True)
        self.link.symlink_to(self.songs / run)

    def settings(self, **more: Any) -> Message:
        values = VALUES | {"port": self.port, "workers": 1, "search_folder": self.link.parent, "notice_s": 0}
        return read_settings(values | {"models": [f"fans={self.link}"]} | more, None, {}).model_dump(mode="json")

    def models(self) -> dict[str, str]:
        reply = httpx2.get(f"http://127.0.0.1:{self.port}/v1/models", timeout=60)
        return {model["name"]: model["hash"] for model in reply.json()["models"]}

    @property
    def pid(self) -> int:
        pid: int = self.node.status()["pid"]
        return pid

    def processes(self) -> list[int]:
        return [self.pid, *(child for child, _ in descendants(self.pid))]


@pytest.fixture(scope="module")
def deployed(songs: Path, best: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    made = Deployed(tmp_path_factory.mktemp("deployed"), songs)
    made.node.deploy(made.settings())
    yield made
    made.node.stop()


def restarted(deployed: Deployed, old: int) -> bool:
    return until(lambda: deployed.node.status()["state"] == "ready" and deployed.pid != old)


def test_killed_service_is_started_again(deployed: Deployed) -> None:
    old, before = deployed.pid, deployed.node.status()["restarts"]
    os.kill(old, signal.SIGKILL)
    assert restarted(deployed, old) and deployed.models().keys() == {"fans"}
    assert deployed.node.status()["restarts"] == before + 1


def test_reload_changes_models_and_a_refused_one_changes_nothing(deployed: Deployed) -> None:
    [old] = deployed.models().values()
    deployed.point_to("best")
    assert deployed.node.reload() == ["fans"]
    [new] = deployed.models().values()
    assert new != old and deployed.node.status()["models"] == [{"name": "fans", "hash": new}]
    assert deployed.node.reload() == []
    deployed.point_to("corpus")
    with pytest.raises(BadArtifact, match="is not a trained model"):
        deployed.node.reload()
    assert deployed.models() == {"fans": new}


def test_settings_that_are_refused_interrupt_nothing(deployed: Deployed) -> None:
    deployed.point_to("run")
    old = deployed.pid
    with pytest.raises(BadArtifact, match="is not a trained model"):
        deployed.node.deploy(deployed.settings(models=[f"fans={deployed.songs / 'corpus'}"]))
    with pytest.raises(BadInput, match="cannot be read"):
        deployed.node.deploy(deployed.settings(keys=deployed.link.parent / "missing"))
    assert deployed.pid == old and deployed.models().keys() == {"fans"}


def test_service_whose_settings_fail_after_all_returns_to_the_old_ones(deployed: Deployed) -> None:
    old = deployed.pid
    with pytest.raises(BadSetting, match="cannot listen on 192.0.2.1"):
        deployed.node.deploy(deployed.settings(host="192.0.2.1", without_keys=True))
    assert restarted(deployed, old) and deployed.models().keys() == {"fans"}


def test_new_settings_replace_the_service_and_one_that_hangs_is_replaced(deployed: Deployed) -> None:
    deployed.node.deploy(deployed.settings(models=[f"other={deployed.songs / 'run'}"], hang_s=3))
    assert deployed.models().keys() == {"other"}
    old = deployed.pid
    with suppress(ProcessLookupError):  # on a busy machine it may seem to hang by itself
        os.kill(old, signal.SIGSTOP)
    assert restarted(deployed, old) and deployed.models().keys() == {"other"}


def test_stopped_service_leaves_no_process(deployed: Deployed) -> None:
    processes = deployed.processes()
    assert len(processes) >= 4  # front, supervisor, model host, worker
    deployed.node.stop()
    assert until(lambda: not any(map(psutil.pid_exists, processes)))
    assert deployed.node.status()["state"] == "stopped"


def test_service_ends_with_its_node(deployed: Deployed) -> None:
    command = [sys.executable, "-c", DIES, json.dumps(deployed.settings(port=free_ports()))]
    pid = int(subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=300).stdout)
    assert until(lambda: not psutil.pid_exists(pid))
