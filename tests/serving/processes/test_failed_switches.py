"""Reloads and rollbacks that fail for a moment, with a fake supervisor and fake model hosts."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from fansrec.errors import BadArtifact, Unfinished
from fansrec.serving.metrics import Metrics
from fansrec.serving.processes.channel import MODEL_HOST, WORKER
from fansrec.serving.processes.deployment_manager import DeploymentManager
from fansrec.serving.processes.dispatch import Dispatcher
from fansrec.serving.settings import read_settings
from serving.processes.test_dispatch import FakeChannel, run


class FakeModelHost(FakeChannel):
    """A model host: `failing` workers that cannot start; `dies` when it is to apply writes."""

    def __init__(self, manager: DeploymentManager, deployment: int, model: dict[str, Any]) -> None:
        super().__init__()
        self.manager, self.deployment, self.model = manager, deployment, model
        self.failing, self.dies = 0, False

    def send(self, message: Any) -> None:
        super().send(message)
        if message["kind"] != "fork":
            asyncio.get_running_loop().call_soon(self.close if self.dies else self.report)
            return
        started = {"deployment": self.deployment, "kind": WORKER, "pid": len(self.sent), "version": 1}
        if self.failing:
            self.failing -= 1
            started["failed"] = "out of memory"
        asyncio.get_running_loop().call_soon(self.manager._pool._process_connected, FakeChannel(), started)

    def report(self) -> None:
        self.on_message({"models": [self.model], "version": 1}, b"")


class FakeSupervisor:
    """Starts a fake model host for each deployment; from the second one on they die if `dies`."""

    def __init__(self, manager: DeploymentManager) -> None:
        self.manager, self.hosts, self.dies = manager, list[FakeModelHost](), False

    async def start(self) -> None: ...
    async def close(self) -> None: ...

    async def start_model_host(self, order: dict[str, Any]) -> None:
        model = {"name": "m", "hash": "0", "folder": "/m", "base": str(len(self.hosts)), "seq": 0, "folded": 0}
        host = FakeModelHost(self.manager, order["deployment"], model)
        host.dies = self.dies
        self.hosts.append(host)
        introduction = {"deployment": order["deployment"], "kind": MODEL_HOST, "pid": 0}
        self.manager._pool._process_connected(host, introduction)  # type: ignore[arg-type]
        host.report()


async def started(store: Any = None) -> tuple[DeploymentManager, FakeSupervisor]:
    settings, metrics = read_settings({"models": ["m"], "workers": 2}, None, {}), Metrics()
    manager = DeploymentManager(settings, metrics, Dispatcher(settings, metrics, asyncio.get_running_loop()), int)
    supervisor = FakeSupervisor(manager)
    manager._pool._supervisor = supervisor  # type: ignore[assignment]
    if store is not None:
        manager.take_writes(store)
    await manager.start()
    return manager, supervisor


@run
async def test_rollback_succeeds_after_one_that_failed() -> None:
    manager, supervisor = await started()
    assert await manager.reload() == ["m"]
    supervisor.hosts[0].failing = 1
    with pytest.raises(BadArtifact, match="cannot be served: out of memory"):
        await manager.roll_back()
    assert manager.models == [supervisor.hosts[1].model]
    assert await manager.roll_back() == ["m"]
    assert manager.models == [supervisor.hosts[0].model]
    await manager.close()


@run
async def test_models_whose_process_dies_when_they_are_to_serve_are_forgotten() -> None:
    manager, supervisor = await started(SimpleNamespace(last=0, on_stored=None, drop=lambda contained: None))
    supervisor.dies = True
    with pytest.raises(Unfinished):
        await manager.reload()
    assert [*manager._pool._deployments.values()] == [manager.current]
    assert manager.models == [supervisor.hosts[0].model]
    await manager.close()


@run
async def test_reload_that_is_cancelled_leaves_no_models_behind() -> None:
    manager, supervisor = await started()
    fork, FakeModelHost.send = FakeModelHost.send, FakeChannel.send  # type: ignore[method-assign]
    try:
        reload = asyncio.ensure_future(manager.reload())
        while len(supervisor.hosts) < 2 or not supervisor.hosts[1].sent:
            await asyncio.sleep(0)
    finally:
        FakeModelHost.send = fork  # type: ignore[method-assign]
    reload.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reload
    assert [*manager._pool._deployments.values()] == [manager.current] and supervisor.hosts[1].closed
    await manager.close()
