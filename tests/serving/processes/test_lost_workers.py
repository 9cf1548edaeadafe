"""Workers that die before they report, with a fake supervisor and fake model hosts."""

import asyncio
from typing import Any

import pytest

from fansrec.serving.metrics import Metrics
from fansrec.serving.processes import deployment_pool
from fansrec.serving.processes.channel import MODEL_HOST, WORKER
from fansrec.serving.processes.deployment_manager import DeploymentManager
from fansrec.serving.processes.deployment_pool import DeploymentPool
from fansrec.serving.processes.dispatch import Dispatcher
from fansrec.serving.settings import read_settings
from serving.processes.test_dispatch import FakeChannel
from serving.service import DEADLINE_S

MODEL = {"name": "m", "hash": "0", "folder": "/m"}


class FakeModelHost(FakeChannel):
    """A model host: of the workers it is asked to fork, the first `lost` never report."""

    def __init__(self, pool: DeploymentPool, deployment: int, lost: int) -> None:
        super().__init__()
        self.pool, self.deployment, self.lost = pool, deployment, lost

    def send(self, message: Any) -> None:
        super().send(message)
        if len(self.sent) > self.lost:
            message = {"deployment": self.deployment, "kind": WORKER, "pid": len(self.sent), "version": 0}
            asyncio.get_running_loop().call_soon(self.pool._process_connected, FakeChannel(), message)


class FakeSupervisor:
    """Starts a fake model host for each deployment."""

    def __init__(self, pool: DeploymentPool) -> None:
        self.pool = pool
        self.hosts: list[FakeModelHost] = []

    async def start(self) -> None: ...
    async def close(self) -> None: ...

    async def start_model_host(self, order: dict[str, Any]) -> None:
        host = FakeModelHost(self.pool, order["deployment"], lost=2)
        self.hosts.append(host)
        introduction = {"deployment": order["deployment"], "kind": MODEL_HOST, "pid": 0}
        self.pool._process_connected(host, introduction)  # type: ignore[arg-type]
        model = MODEL | {"base": str(len(self.hosts))}
        host.on_message({"models": [model], "version": 0}, b"")


async def start_and_reload() -> list[FakeModelHost]:
    settings = read_settings({"models": ["m"], "workers": 2}, None, {})
    metrics, loop = Metrics(), asyncio.get_running_loop()
    manager = DeploymentManager(settings, metrics, Dispatcher(settings, metrics, loop), lambda: None)
    supervisor = FakeSupervisor(manager._pool)
    manager._pool._supervisor = supervisor  # type: ignore[assignment]
    async with asyncio.timeout(DEADLINE_S):
        await manager.start()
        assert await manager.reload() == ["m"]
    await manager.close()
    return supervisor.hosts


def test_workers_lost_before_they_report_are_requested_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deployment_pool, "REPORT_SECONDS", {"cpu": 0.05})
    hosts = asyncio.run(start_and_reload())
    assert [sum(message["kind"] == "fork" for message in host.sent) for host in hosts] == [4, 4]
