"""The log: records survive every interruption, damage is found, and a full disk refuses records cleanly."""

import asyncio
import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fansrec.errors import BadArtifact
from fansrec.serving.http.problems import Problem
from fansrec.serving.writes import log as log_module
from fansrec.serving.writes.log import Log, NotStored, open_log
from fansrec.serving.writes.records import line_of, raw_lines, read_lines, recover
from fansrec.serving.writes.writer import Limits, LogWriter
from serving.service import until


def content(value: object) -> bytes:
    return json.dumps({"value": value}).encode()


def values(path: Path) -> list[Any]:
    """Return the values of all records of a log, without its header."""
    return [line.record["value"] for line in read_lines(path) if "value" in line.record]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def log(path: Path) -> Log:
    return open_log(path)


def test_records_are_numbered_and_read_back(path: Path, log: Log) -> None:
    assert log.append([content("a")]) == 1
    assert log.append([content("b"), content("é")]) == 2
    assert [line.record.get("seq") for line in read_lines(path)] == [None, 1, 2, 3]
    assert values(path) == ["a", "b", "é"] and log.size == path.stat().st_size
    again = open_log(path)
    assert (again.last, again.size, again.id) == (3, log.size, log.id)
    assert again.append([content("c")]) == 4


def test_log_truncated_at_any_byte_of_its_last_write_keeps_all_earlier_records(path: Path, log: Log) -> None:
    log.append([content("a")])
    log.mark_synced()
    before = log.size
    log.append([content("b"), content("c" * 30)])
    ends = [end for _, end in raw_lines(path)][-2:]
    log.mark_synced()
    whole = path.read_bytes()
    for size in range(before, len(whole)):
        path.write_bytes(whole[:size])
        found = open_log(path)
        left = ["a", *(value for value, end in zip(["b", "c" * 30], ends, strict=True) if end <= size)]
        assert values(path) == left and found.last == len(left)
        assert path.stat().st_size == found.size  # the rest was cut off
        found.append([content("d")])
        assert values(path) == [*left, "d"]
        found.close()


@pytest.mark.parametrize("start", [0, 1], ids=["one write", "two writes"])
def test_any_changed_byte_is_found(path: Path, log: Log, start: int) -> None:
    log.append([content("a")])
    after_first = log.size
    log.append([content("b"), content("c")])
    whole = path.read_bytes()
    begin = after_first if start else path.read_bytes().index(b"\n") + 1
    end = len(whole) if start else after_first
    for at in range(begin, end):
        changed = bytearray(whole)
        changed[at] ^= 1
        path.write_bytes(changed)
        if start:  # the last write may never have been acknowledged, so what is damaged of it is cut off
            open_log(path).close()
            assert values(path) in (["a"], ["a", "b"])
        else:
            with pytest.raises(BadArtifact, match="damaged after record 0"):
                open_log(path)
            assert path.read_bytes() == changed  # nothing was lost by the attempt


def test_mark_says_once_that_the_last_records_are_synchronized(path: Path, log: Log) -> None:
    log.append([content("a")])
    log.append([content("b"), content("c")])
    assert recover(path).synced == 1  # the records of the last append may be withdrawn
    log.mark_synced()
    size = log.size
    log.mark_synced()
    assert (log.size, path.stat().st_size, recover(path).last, recover(path).synced) == (size, size, 3, 3)
    again = open_log(path)
    again.mark_synced()
    assert again.size == size and again.append([content("d")]) == 4
    assert values(path) == ["a", "b", "c", "d"] and recover(path).synced == 3


def test_damaged_mark_does_not_hide_the_records_after_it(path: Path, log: Log) -> None:
    log.append([content("a")])
    start = log.size
    log.mark_synced()
    newline = log.size - 1
    log.append([content("b")])
    whole = path.read_bytes()
    for at in range(start, newline):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(BadArtifact, match="damaged after record 1"):
            recover(path)


def test_mark_that_cannot_be_stored_leaves_nothing(path: Path, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    log.append([content("a")])
    with monkeypatch.context() as patch:
        fail_after_some_bytes(patch, errno.ENOSPC)
        with pytest.raises(NotStored):
            log.mark_synced()
    assert path.stat().st_size == log.size and log.needs_mark
    log.append([content("b")])
    assert values(path) == ["a", "b"]


@pytest.mark.parametrize(
    "line",
    [
        b'{"seq":1,"changes":[]}',
        b'{"seq":1,"first":"x"}',
        b'{"seq":1,"first":2}',
        b'{"seq":"x","first":1}',
        b'{"seq":true,"first":1}',
        b'{"seq":1e400,"first":1}',
        b'{"seq":-1,"first":-1}',
        b'{"seq":%d,"first":1}' % 10**30,
        b'{"synced":"x"}',
        b'{"synced":1}',
        b"{}",
    ],
)
def test_line_that_no_log_has_is_refused(path: Path, log: Log, line: bytes) -> None:
    with path.open("ab") as file:
        file.write(line_of(line))
    before = path.read_bytes()
    with pytest.raises(BadArtifact, match="after record 0"):
        open_log(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "wrong", [{"compacted": "x"}, {"after": -5}, {"after": True}, {"after": None}, {"id": 5}, {"fansrec_log": "1"}]
)
def test_header_that_no_log_has_is_refused(path: Path, wrong: dict[str, Any]) -> None:
    header = {"fansrec_log": 1, "id": "a", "after": 0, "compacted": 0} | wrong
    path.write_bytes(line_of(json.dumps(header).encode()) + line_of(b'{"seq":1,"first":1,"value":1}'))
    with pytest.raises(BadArtifact, match="first line is damaged"):
        open_log(path)


def test_damaged_header_is_refused(path: Path, log: Log) -> None:
    whole = path.read_bytes()
    path.write_bytes(b"x" + whole[1:])
    with pytest.raises(BadArtifact, match="first line is damaged"):
        open_log(path)
    path.write_bytes(line_of(b'{"fansrec_log": 99, "after": 0}'))
    with pytest.raises(BadArtifact, match="upgrade fansrec"):
        open_log(path)


def test_missing_record_is_found(path: Path, log: Log) -> None:
    for value in "abc":
        log.append([content(value)])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], lines[3]]))
    with pytest.raises(BadArtifact, match="damaged after record 1"):
        open_log(path)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("call", ["write", "sync"])
def test_failed_write_is_refused_and_leaves_nothing(
    path: Path, log: Log, number: int, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.append([content("a")])
    with monkeypatch.context() as patch:
        fail_after_some_bytes(patch, number) if call == "write" else patch.setattr(
            log_module, "sync_data", fail(number)
        )
        with pytest.raises(NotStored, match="free space"):
            log.append([content("b" * 100)])
    assert values(path) == ["a"] and path.stat().st_size == log.size
    log.append([content("c")])
    assert values(path) == ["a", "c"] and open_log(path).last == 2


def test_log_that_cannot_be_cut_back_refuses_all_later_writes(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    log.append([content("a")])
    with monkeypatch.context() as patch:
        fail_after_some_bytes(patch, errno.EIO)
        patch.setattr(os, "ftruncate", fail(errno.EIO))
        with pytest.raises(NotStored):
            log.append([content("b")])
    with pytest.raises(NotStored, match="restart the service"):
        log.append([content("c")])


def fail(number: int) -> Callable[..., Any]:
    def raise_error(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return raise_error


def fail_after_some_bytes(patch: pytest.MonkeyPatch, number: int) -> None:
    """Let one write be short and the next one fail, as on a disk that becomes full."""
    real, calls = os.write, []

    def write(file: int, data: memoryview) -> int:
        calls.append(file)
        return real(file, data[:7]) if len(calls) == 1 else fail(number)()

    patch.setattr(os, "write", write)


FILL = """
import resource, signal, sys
from pathlib import Path
from fansrec.serving.writes.log import NotStored, open_log
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
log = open_log(Path(sys.argv[1]))
try:
    while True:
        log.append([b'{"value":"%s"}' % (b"x" * 300)])
except NotStored:
    print(log.last, log.size)
"""


def test_real_limit_of_the_file_size_refuses_cleanly(path: Path) -> None:
    assert resource.RLIMIT_FSIZE  # the child has a limit, this process has none
    done = subprocess.run([sys.executable, "-c", FILL, str(path)], capture_output=True, text=True, check=True)
    last, size = map(int, done.stdout.split())
    assert path.stat().st_size == size <= 2000 and len(values(path)) == last > 0
    assert open_log(path).append([content("more")]) == last + 1


def with_writer(path: Path, limits: Limits, work: Callable[[LogWriter], Any], idle_s: float | None = None) -> Any:
    async def run() -> Any:
        writer = LogWriter(open_log(path), limits, idle_s=idle_s)
        try:
            return await work(writer)
        finally:
            writer.close()

    return asyncio.run(run())


def test_writes_that_arrive_together_share_synchronizations(path: Path) -> None:
    async def work(writer: LogWriter) -> tuple[list[int], int]:
        numbers = await asyncio.gather(*(writer.append(content(n)) for n in range(100)))
        return numbers, writer.counts.syncs

    numbers, syncs = with_writer(path, Limits(), work)
    assert numbers == list(range(1, 101)) and values(path) == list(range(100)) and syncs < 100


def test_writer_limits_are_problems_that_say_what_to_do(path: Path) -> None:
    async def work(writer: LogWriter) -> list[tuple[int, str]]:
        found = []
        for size in (3000, 500, 500, 500, 500):
            try:
                await writer.append(content("x" * size))
            except Problem as problem:
                found.append((problem.status, problem.kind))
        return found

    limits = Limits(log_bytes=1500, record_bytes=2000)
    assert with_writer(path, limits, work) == [(413, "too-large"), (507, "log-full"), (507, "log-full")]


def test_too_many_waiting_bytes_are_refused_for_a_moment(path: Path) -> None:
    async def work(writer: LogWriter) -> list[object]:
        with writer.lock:  # as if the disk took long
            waiting = asyncio.gather(*(writer.append(content("x" * 400)) for _ in range(4)), return_exceptions=True)
            await asyncio.sleep(0)
        return await waiting

    found = with_writer(path, Limits(pending_bytes=1000), work)
    kinds = [one.kind if isinstance(one, Problem) else one for one in found]
    assert kinds == [1, 2, "overload", "overload"]


def test_failed_write_reaches_the_request_and_the_next_one_works(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(writer: LogWriter) -> int:
        with monkeypatch.context() as patch:
            patch.setattr(log_module, "sync_data", fail(errno.ENOSPC))
            with pytest.raises(Problem) as caught:
                await writer.append(content("a"))
        assert (caught.value.status, caught.value.kind) == (507, "not-stored")
        return await writer.append(content("b"))

    assert with_writer(path, Limits(), work) == 1 and values(path) == ["b"]


def test_idle_writer_marks_its_last_records(path: Path) -> None:
    async def work(writer: LogWriter) -> tuple[int, int]:
        await writer.append(content("a"))
        marked = await asyncio.to_thread(until, lambda: recover(path).synced == 1)
        return marked, writer.counts.records

    assert with_writer(path, Limits(), work, idle_s=0.01) == (True, 1)


def test_closed_and_restarted_writers_mark_the_last_records(path: Path, log: Log) -> None:
    async def write(writer: LogWriter) -> None:
        await writer.append(content("b"))

    async def wait(writer: LogWriter) -> None:
        assert await asyncio.to_thread(until, lambda: recover(path).synced == 3)

    log.append([content("a")])
    with_writer(path, Limits(), write, idle_s=1000)
    assert (recover(path).last, recover(path).synced) == (2, 2)
    open_log(path).append([content("c")])
    assert recover(path).synced == 2
    with_writer(path, Limits(), wait, idle_s=0.01)
