"""Stored events: read back while they are written and after a crash, and bounded."""

import asyncio
import errno
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from fansrec.errors import BadInput
from fansrec.serving.events import store as store_module
from fansrec.serving.events.reading import EventLog
from fansrec.serving.events.segments import SEGMENTS, segment_files
from fansrec.serving.events.store import EventStore
from fansrec.serving.http.problems import Problem

MANY = 1 << 20


def event(item: object) -> dict[str, Any]:
    return {"type": "accepted", "model": "a", "item": item}


def events_json(item: object) -> bytes:
    """Return the JSON of a request's events: one."""
    return json.dumps([event(item)], ensure_ascii=False).encode()


def store(folder: Path, items: Iterable[object], max_bytes: int = MANY, batch: str | None = None) -> None:
    """Store one event per request, one request after another."""

    async def send() -> None:
        events = EventStore(folder, max_bytes, clock=lambda: 1000.0)
        for item in items:
            await events.store(events_json(item), batch)
        events.close()

    asyncio.run(send())


def stored(path: Path) -> list[object]:
    return [one["item"] for one in EventLog(path)]


def test_events_are_read_back_in_order_also_after_the_store_was_opened_again(tmp_path: Path) -> None:
    store(tmp_path / "events", ["s1", 2])
    store(tmp_path / "events", ["é"])
    assert stored(tmp_path) == stored(tmp_path / "events") == ["s1", 2, "é"]  # folder of the writes, or of the events
    assert stored(segment_files(tmp_path / "events")[0]) == ["s1", 2, "é"]


def test_events_are_read_while_they_are_written(tmp_path: Path) -> None:
    async def check() -> None:
        events = EventStore(tmp_path, MANY)
        for number in range(3):
            await events.store(events_json(number), None)
            assert stored(tmp_path) == [*range(number + 1)]
        events.close()

    asyncio.run(check())


def test_incomplete_last_record_is_ignored_at_every_length(tmp_path: Path) -> None:
    store(tmp_path, ["first"])
    (file,) = segment_files(tmp_path)
    before = file.stat().st_size
    store(tmp_path, ["second"])
    whole = file.read_bytes()
    for size in range(before, len(whole)):
        file.write_bytes(whole[:size])
        log = EventLog(tmp_path)
        assert [one["item"] for one in log] == ["first"] and log.damaged == 0
    store(tmp_path, ["third"])
    assert stored(tmp_path) == ["first", "third"]


def test_damaged_line_is_left_out_and_counted(tmp_path: Path) -> None:
    store(tmp_path, ["first", "second", "third"])
    (file,) = segment_files(tmp_path)
    file.write_bytes(file.read_bytes().replace(b"second", b"secund"))
    log = EventLog(tmp_path)
    assert [one["item"] for one in log] == ["first", "third"]
    period = ["1970-01-01T00:16:40+00:00"] * 2
    assert log.summary() == {"period": period, "repeated_requests": 0, "damaged_lines": 1}


def test_request_that_was_sent_again_counts_once(tmp_path: Path) -> None:
    store(tmp_path, ["one", "one"], batch="x")
    store(tmp_path, ["two"], batch="y")
    store(tmp_path, ["three", "three"])
    log = EventLog(tmp_path)
    assert [one["item"] for one in log] == ["one", "two", "three", "three"] and log.repeated == 1


def test_oldest_events_are_removed_when_the_limit_is_reached(tmp_path: Path) -> None:
    store(tmp_path, range(300), max_bytes=8192)
    files = segment_files(tmp_path)
    assert 8192 // 2 < sum(file.stat().st_size for file in files) <= 8192 + 200  # the last record of a segment
    found = stored(tmp_path)
    assert found == [*range(300)][-len(found) :] and len(found) > 30
    store(tmp_path, [300], max_bytes=8192)
    assert stored(tmp_path)[-2:] == [299, 300]


def test_requests_at_the_same_time_start_one_segment_and_lose_nothing(tmp_path: Path) -> None:
    async def send() -> None:
        events = EventStore(tmp_path, MANY)
        await asyncio.gather(*(events.store(events_json("x" * 2000), None) for _ in range(200)))
        assert len(segment_files(tmp_path)) == 1
        await asyncio.gather(*(events.store(events_json("y"), None) for _ in range(20)))
        events.close()

    asyncio.run(send())
    assert len(segment_files(tmp_path)) == 2 and len(stored(tmp_path)) == 220


def test_full_disk_refuses_events_until_there_is_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = True
    start = store_module.start_segment

    def maybe_full(*arguments: Any) -> Any:
        if full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return start(*arguments)

    monkeypatch.setattr(store_module, "start_segment", maybe_full)

    store(tmp_path, ["first"])
    (file,) = segment_files(tmp_path)

    async def send() -> None:
        nonlocal full
        events = EventStore(tmp_path, SEGMENTS * file.stat().st_size)
        with pytest.raises(Problem) as error:
            await events.store(events_json("second"), None)
        assert (error.value.status, error.value.kind) == (507, "not-stored")
        full = False
        await events.store(events_json("third"), None)
        events.close()

    asyncio.run(send())
    assert stored(tmp_path) == ["first", "third"]


def test_folder_without_events_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"has no events \(events-\*\.log\)"):
        EventLog(tmp_path)
    with pytest.raises(BadInput):
        EventLog(tmp_path / "missing")


def test_file_of_other_lines_has_only_damaged_ones(tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("a\nb\n")
    log = EventLog(tmp_path / "other.txt")
    assert [*log] == [] and log.damaged == 2
