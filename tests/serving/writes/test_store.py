"""The log of a service while `fans compact` removes writes from it: what is acknowledged is there."""

import asyncio
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fansrec.files import write_json
from fansrec.serving.http.problems import Problem
from fansrec.serving.metrics import Metrics
from fansrec.serving.processes.live_updates import LiveUpdates
from fansrec.serving.settings import ModelSpec, Settings
from fansrec.serving.writes.records import read_lines, recover
from fansrec.serving.writes.requests import fields_of
from fansrec.serving.writes.store import DROP_FILE, FILE, WriteStore
from fansrec.updating.changes import RemoveList

Work = Callable[[WriteStore], Any]


def with_store(folder: Path, work: Work) -> Any:
    """Return what `work` returns, which gets a store with three writes."""

    async def run() -> Any:
        settings = Settings(models=(ModelSpec(name="m", run=folder),), writes=folder)
        store = WriteStore(settings, Metrics())
        for id in "abc":
            await store.store(fields_of([RemoveList(id)]).changes)
        try:
            return await work(store)
        finally:
            store.close()

    return asyncio.run(run())


def request(store: WriteStore, folder: Path, seq: int) -> None:
    write_json(folder / DROP_FILE, {"log": store.describe()["log"], "seq": seq})


def stored(folder: Path) -> list[str]:
    lines = read_lines(folder / FILE)
    return [change["remove"] for line in lines for change in line.record.get("changes", ())]


def test_requested_writes_are_dropped_as_far_as_the_models_contain_them(tmp_path: Path) -> None:
    async def work(store: WriteStore) -> None:
        request(store, tmp_path, 3)
        store.drop(0)  # a model contains none
        assert stored(tmp_path) == ["a", "b", "c"]
        store.drop(2)
        assert stored(tmp_path) == ["c"] and (tmp_path / DROP_FILE).exists()
        store.drop(1)  # older models, for example: what is gone stays gone
        assert recover(tmp_path / FILE)[1:] == (3, store.describe()["bytes"], 3)
        store.drop(3)
        assert stored(tmp_path) == [] and not (tmp_path / DROP_FILE).exists()
        assert await store.store(fields_of([RemoveList("d")]).changes) == 4

    with_store(tmp_path, work)
    assert stored(tmp_path) == ["d"]


@pytest.mark.parametrize("failing", ["open", "fsync", "fdatasync", "replace", "rename", "ftruncate", "lseek", "fstat"])
def test_write_is_refused_or_stored_whichever_call_fails_while_the_log_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    for number in range(6):
        folder = tmp_path / str(number)
        folder.mkdir()

        async def work(store: WriteStore, folder: Path = folder, number: int = number) -> int | None:
            request(store, folder, 2)
            with monkeypatch.context() as patch:
                fail_once(patch, failing, number)
                store.drop(2)
            try:
                return await store.store(fields_of([RemoveList("d")]).changes)
            except Problem as problem:
                return None if problem.kind == "not-stored" else -1

        acknowledged = with_store(folder, work)
        assert acknowledged in (4, None)
        assert stored(folder) in (["c", *"d" * bool(acknowledged)], ["a", "b", "c", *"d" * bool(acknowledged)])
        assert recover(folder / FILE).last == (acknowledged or 3)


def fail_once(patch: pytest.MonkeyPatch, name: str, number: int) -> None:
    """Let a call of a function of `os` fail, after `number` calls that work."""
    real, calls = getattr(os, name), []

    def call(*arguments: Any, **more: Any) -> Any:
        calls.append(name)
        if len(calls) == number + 1:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return real(*arguments, **more)

    patch.setattr(os, name, call)


def test_write_after_a_rename_that_may_not_be_durable_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync

    def fsync(file: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{file}") and not (tmp_path / f".{FILE}.rest").exists():
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(file)

    async def work(store: WriteStore) -> None:
        request(store, tmp_path, 2)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fsync)
            store.drop(2)
        with pytest.raises(Problem, match="restart the service"):
            await store.store(fields_of([RemoveList("d")]).changes)

    with_store(tmp_path, work)
    assert stored(tmp_path) == ["c"]


def test_writes_that_the_models_of_a_rollback_lack_are_not_dropped(tmp_path: Path) -> None:
    def model(folded: int, seq: int | None) -> dict[str, Any]:
        return {"folded": folded, "seq": seq}

    async def work(store: WriteStore) -> None:
        updates = LiveUpdates(store, Metrics(), apply=None)  # type: ignore[arg-type]
        request(store, tmp_path, 3)
        await updates.drop_contained([model(0, None)], [])
        assert stored(tmp_path) == ["a", "b", "c"]
        await updates.drop_contained([model(3, 3), model(0, None)], [model(0, 1)])
        assert stored(tmp_path) == ["b", "c"]
        await updates.drop_contained([model(3, 3), model(2, 3)], [])
        assert stored(tmp_path) == ["c"]

    with_store(tmp_path, work)
