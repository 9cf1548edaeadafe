"""Workers that die before they report, with a process that loads models and exists only here."""

import asyncio
from typing import Any

import pytest

from fansrec.serving.metrics import Metrics
from fansrec.serving.processes import deployments as generations
from fansrec.serving.processes.deployments import Generations
from fansrec.serving.processes.dispatch import Dispatcher
from fansrec.serving.settings import read_settings
from serving.processes.test_dispatch import FakeLine
from serving.service import DEADLINE_S

MODEL = {"name": "m", "hash": "0", "folder": "/m"}


class FakeHost(FakeLine):
    """A process with loaded models: of the workers it is asked to fork, the first `lost` never report."""

    def __init__(self, of: Generations, generation: int, lost: int) -> None:
        super().__init__()
        self.of, self.generation, self.lost = of, generation, lost

    def send(self, message: Any, content: bytes = b"") -> None:
        super().send(message, content)
        if len(self.sent) > self.lost:
            message = {"generation": self.generation, "kind": "worker", "pid": len(self.sent)}
            asyncio.get_running_loop().call_soon(self.of._came, FakeLine(), message)


class FakeStarter:
    """Starts a fake process for each deployment."""

    def __init__(self, of: Generations) -> None:
        self.of = of
        self.hosts: list[FakeHost] = []

    async def start(self) -> None: ...
    async def close(self) -> None: ...

    async def order(self, order: dict[str, Any]) -> None:
        self.hosts.append(FakeHost(self.of, order["generation"], lost=2))
        self.of._came(self.hosts[-1], {"generation": order["generation"], "kind": "keeper"})  # type: ignore[arg-type]
        self.hosts[-1].heard({"models": [MODEL | {"hash": str(len(self.hosts))}]}, b"")


async def started_and_reloaded() -> list[FakeHost]:
    settings = read_settings({"models": ["m"], "workers": 2}, None, {})
    metrics, loop = Metrics(), asyncio.get_running_loop()
    tested = Generations(settings, metrics, Dispatcher(settings, metrics, loop), lambda: None)
    starter = FakeStarter(tested)
    tested._nursery = starter  # type: ignore[assignment]
    async with asyncio.timeout(DEADLINE_S):
        await tested.start()
        assert await tested.reload() == ["m"]
    await tested.close()
    return starter.hosts


def test_workers_lost_before_they_report_are_asked_for_again_at_start_and_reload(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(generations, "COME_SECONDS", {"cpu": 0.05})
    hosts = asyncio.run(started_and_reloaded())
    assert [sum(message["kind"] == "fork" for message in host.sent) for host in hosts] == [4, 4]
