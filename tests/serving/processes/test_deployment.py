"""Versions of a deployment's models: when which workers serve, with a fake model host and fake workers."""

import asyncio
from typing import Any

import pytest

from fansrec.errors import BadArtifact, Unfinished
from fansrec.serving.metrics import Metrics
from fansrec.serving.processes import deployment as deployment_module
from fansrec.serving.processes import model_host
from fansrec.serving.processes.channel import APPLY, HEARTBEAT
from fansrec.serving.processes.deployment import Deployment
from fansrec.serving.processes.dispatch import Dispatcher
from fansrec.serving.settings import read_settings
from serving.processes.test_dispatch import FakeChannel, run


class Setup:
    """A deployment with two workers of version 1 that serves."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        dispatcher = Dispatcher(read_settings({"models": ["m"]}, None, {}), Metrics(), loop)
        self.lost: list[Deployment] = []
        self.deployment = Deployment(1, dispatcher, 2, 60.0, self.lost.append, loop.create_future())
        self.host = FakeChannel()
        self.deployment.add_model_host(self.host, 4711, self.deployment.lose_model_host)  # type: ignore[arg-type]
        self.applied(1)
        self.deployment.active = True
        self.start(11, 1)
        self.start(12, 1)
        self.deployment.serve()

    def applied(self, version: int) -> None:
        """Have the model host report a version of its models."""
        model = {"name": "m", "hash": str(version), "base": "0", "seq": version}
        self.host.on_message({"models": [model], "version": version}, b"")

    def start(self, pid: int, version: int) -> FakeChannel:
        channel = FakeChannel()
        self.deployment.add_worker(channel, pid, version)  # type: ignore[arg-type]
        return channel

    def apply(self, version: int) -> "asyncio.Task[None]":
        return asyncio.ensure_future(self.deployment.apply(version))

    async def renew(self, version: int) -> "asyncio.Task[None]":
        """Have writes applied, up to the moment at which the workers of the new version have been requested."""
        task, before = self.apply(version), self.forks
        while self.host.sent[-1:] != [{"kind": APPLY, "last": version}]:
            await asyncio.sleep(0)
        self.applied(version)
        while self.forks == before:
            await asyncio.sleep(0)
        return task

    @property
    def forks(self) -> int:
        return sum(message["kind"] == "fork" for message in self.host.sent)

    @property
    def serving(self) -> list[int]:
        """The processes that get requests."""
        return sorted(worker.pid for worker in self.deployment.dispatcher._idle)

    @property
    def seq(self) -> int:
        return int(self.deployment.models[0]["seq"])


@run
async def test_worker_that_fails_to_start_hides_no_later_writes() -> None:
    setup = Setup()
    task = await setup.renew(2)
    setup.deployment.worker_failed("out of memory", 2)
    with pytest.raises(BadArtifact, match="out of memory"):
        await task
    assert setup.serving == [11, 12] and setup.seq == 1
    task = await setup.renew(3)
    setup.start(31, 3)
    setup.start(32, 3)
    await task
    assert setup.serving == [31, 32] and setup.seq == 3


@run
async def test_worker_that_failed_to_start_is_requested_again_after_a_pause() -> None:
    setup = Setup()
    task, before = await setup.renew(2), setup.forks
    setup.start(21, 2)
    setup.deployment.worker_failed("out of memory", 2)
    with pytest.raises(BadArtifact):
        await task
    setup.deployment.request_workers()
    assert setup.forks == before
    setup.deployment.retry_at -= 10
    setup.deployment.request_workers()
    setup.deployment.request_workers()
    assert setup.forks == before + 1
    setup.start(22, 2)
    assert setup.serving == [21, 22] and setup.seq == 2


@run
async def test_next_attempt_requests_only_the_worker_that_failed_to_start() -> None:
    setup = Setup()
    task = await setup.renew(2)
    setup.start(21, 2)
    setup.deployment.worker_failed("out of memory", 2)
    with pytest.raises(BadArtifact):
        await task
    before, again = setup.forks, await setup.renew(2)  # nothing was written meanwhile
    assert setup.forks == before + 1
    setup.start(22, 2)
    await again
    assert setup.serving == [21, 22] and setup.seq == 2


@run
async def test_failed_worker_of_an_earlier_version_does_not_stop_the_renewal() -> None:
    setup = Setup()
    task = await setup.renew(2)
    setup.deployment.worker_failed("out of memory", 1)
    setup.start(21, 2)
    setup.start(22, 2)
    await task
    assert setup.serving == [21, 22] and setup.seq == 2


@run
async def test_workers_of_two_versions_never_serve_together(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = Setup()
    with monkeypatch.context() as patch:
        patch.setattr(deployment_module, "START_SECONDS", 0.0)
        task = await setup.renew(2)
        early = setup.start(21, 2)
        with pytest.raises(BadArtifact, match="did not start"):
            await task
    task = await setup.renew(3)
    late = setup.start(22, 2)  # was requested for the version before
    setup.start(31, 3)
    assert early.closed and late.closed
    assert setup.serving == [11, 12] and not task.done()
    setup.start(32, 3)
    await task
    assert setup.serving == [31, 32] and setup.seq == 3


@run
async def test_workers_that_start_after_a_failed_renewal_serve_as_what_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deployment_module, "START_SECONDS", 0.0)
    setup = Setup()
    with pytest.raises(BadArtifact, match="did not start"):
        await (await setup.renew(2))
    setup.start(21, 2)
    assert setup.seq == 1
    setup.start(22, 2)
    assert setup.serving == [21, 22] and setup.seq == 2


@run
async def test_no_worker_is_requested_while_writes_are_applied() -> None:
    setup = Setup()
    task, before = setup.apply(2), setup.forks
    await asyncio.sleep(0)
    next(iter(setup.deployment.workers)).channel.close()
    while not setup.lost:
        await asyncio.sleep(0)
    setup.deployment.request_workers()
    assert setup.forks == before
    setup.applied(2)
    while setup.forks == before:
        await asyncio.sleep(0)
    assert setup.forks == before + 2
    setup.start(21, 2)
    setup.start(22, 2)
    await task


@run
async def test_silent_model_host_is_killed_while_it_applies_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[int] = []
    monkeypatch.setattr(model_host, "kill", killed.append)
    setup = Setup()
    host: Any = setup.deployment.model_host
    host.check(-1)
    assert not killed  # it has nothing to do
    task = setup.apply(2)
    await asyncio.sleep(0)
    host.check(3600)
    assert not killed
    host.check(-1)
    assert killed == [4711]
    with pytest.raises(Unfinished):
        await task
    with pytest.raises(Unfinished):
        await setup.deployment.apply(2)
    assert setup.serving == [11, 12]  # they serve until the models are loaded again


@run
async def test_model_host_that_sends_heartbeats_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[int] = []
    monkeypatch.setattr(model_host, "kill", killed.append)
    setup = Setup()
    host: Any = setup.deployment.model_host
    task = setup.apply(2)
    await asyncio.sleep(0)
    host._heard_at -= 100
    setup.host.on_message({"kind": HEARTBEAT}, b"")
    host.check(50)
    assert not killed and not task.done()
    host._apply_since -= model_host.APPLY_SECONDS
    host.check(50)
    assert killed == [4711]
    with pytest.raises(Unfinished):
        await task


@run
async def test_model_host_that_dies_before_workers_are_requested_is_reported_at_once() -> None:
    setup = Setup()
    task = setup.apply(2)
    await asyncio.sleep(0)
    setup.applied(2)
    setup.deployment.lose_model_host()
    with pytest.raises(Unfinished):
        await task
