import asyncio
import contextlib
import gzip
import tracemalloc
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fansrec.serving.http.bodies import ClientDisconnected, read_body
from fansrec.serving.http.problems import Problem

MEMBER = gzip.compress(b"abc", mtime=0)


@dataclass
class Limits:
    max_body_bytes: int = 1000
    max_unpacked_bytes: int = 5000
    body_timeout_s: float = 180.0


def read(pieces: Sequence[bytes | None], limits: Limits | None = None, **headers: str) -> bytes:
    """Read a body that a client sends in pieces; None is a client that disconnects."""
    waiting = [
        {"type": "http.disconnect"} if piece is None else {"type": "http.request", "body": piece, "more_body": True}
        for piece in pieces
    ]
    if waiting and pieces[-1] is not None:
        waiting[-1]["more_body"] = False

    async def receive() -> Any:
        if not waiting:
            await asyncio.sleep(3600)
        return waiting.pop(0)

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return asyncio.run(read_body({"headers": raw}, receive, limits or Limits()))


def refusal(*args: Any, **headers: str) -> Problem:
    with pytest.raises(Problem) as raised:
        read(*args, **headers)
    return raised.value


@pytest.mark.parametrize("size", [0, 999, 1000])
def test_body_up_to_the_limit_is_read(size: int) -> None:
    assert read([b"x" * size], content_length=str(size)) == b"x" * size
    assert read([b"x" * (size // 2), b"", b"x" * (size - size // 2)]) == b"x" * size


def test_declared_length_above_the_limit_is_refused_before_reading() -> None:
    assert refusal([], content_length="1001").status == 413


@pytest.mark.parametrize("length", ["9" * 30, str(2**63), "0" * 5000 + "1001"])
def test_huge_declared_length_is_too_large(length: str) -> None:
    assert refusal([], content_length=length).status == 413


@pytest.mark.parametrize("length", ["", "-1", "1e3", "²", "1 000"])
def test_declared_length_must_be_a_number(length: str) -> None:
    assert refusal([b""], content_length=length).status == 400


def test_body_without_length_is_refused_above_the_limit() -> None:
    assert refusal([b"x" * 600, b"x" * 401, b"never read"]).status == 413


def test_slow_body_times_out() -> None:
    problem = refusal([], Limits(body_timeout_s=0.02))
    assert problem.status == 408 and problem.headers == {"Connection": "close"}


def test_disconnected_client_gets_no_problem() -> None:
    with pytest.raises(ClientDisconnected):
        read([b"x", None])


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", " x-gzip "])
@pytest.mark.parametrize("size", [0, 4999, 5000])
def test_compressed_body_up_to_the_limit_is_decompressed(size: int, encoding: str) -> None:
    assert read([gzip.compress(b"x" * size)], content_encoding=encoding) == b"x" * size


def test_decompressed_body_above_the_limit_is_refused() -> None:
    problem = refusal([gzip.compress(b"x" * 5001)], content_encoding="gzip")
    assert problem.status == 413 and "unpacked" in problem.detail


def test_compressed_body_above_the_plain_limit_is_refused() -> None:
    incompressible = gzip.compress(bytes(range(256)) * 8, compresslevel=0)
    assert refusal([incompressible], content_encoding="gzip").status == 413


def test_compression_bomb_is_never_decompressed() -> None:
    bomb = gzip.compress(bytes(40 * 2**20))
    limits = Limits(max_body_bytes=2**20, max_unpacked_bytes=2**20)
    tracemalloc.start()
    assert refusal([bomb], limits, content_encoding="gzip").status == 413
    assert tracemalloc.get_traced_memory()[1] < 4 * 2**20
    tracemalloc.stop()


def test_compression_bomb_of_many_members_is_refused() -> None:
    assert refusal([gzip.compress(b"x" * 500) * 11], Limits(max_body_bytes=9999), content_encoding="gzip").status == 413


def test_decompression_yields_to_other_tasks() -> None:
    async def turns() -> int:
        async def receive() -> Any:
            return {"type": "http.request", "body": gzip.compress(bytes(4 * 2**20))}

        limits = Limits(10**6, 10**7)
        reading = asyncio.ensure_future(read_body({"headers": [(b"content-encoding", b"gzip")]}, receive, limits))
        count = 0
        while not reading.done():
            count += 1
            await asyncio.sleep(0)
        return count

    assert asyncio.run(turns()) > 10


@pytest.mark.parametrize("after", [b"", b"\0", b"\0" * 100, MEMBER, b"\0\0" + MEMBER])
def test_gzip_members_are_joined_and_zeros_are_padding(after: bytes) -> None:
    expected = b"abc" + (b"abc" if after.strip(b"\0") else b"")
    assert read([MEMBER + after], content_encoding="gzip") == expected


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"plain",
        MEMBER[:-1],
        MEMBER[:5],
        MEMBER + b"garbage",
        MEMBER + MEMBER[:8],
        MEMBER[:-8] + b"\0" * 8,
        zlib.compress(b"abc"),
        b"\0" + MEMBER,
    ],
)
def test_invalid_gzip_is_refused(broken: bytes) -> None:
    assert refusal([broken], content_encoding="gzip").status == 400


@pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, gzip", "zstd", "x" * 5000, "", "é"])
def test_other_encodings_are_refused(encoding: str) -> None:
    problem = refusal([b"x"], content_encoding=encoding)
    assert problem.status == 415 and "gzip" in problem.detail and len(problem.detail) < 300


def test_transfer_encoding_other_than_chunked_is_refused() -> None:
    assert refusal([b"x"], transfer_encoding="gzip, chunked").status == 400
    assert read([b"x"], transfer_encoding="Chunked") == b"x"


@given(contents=st.lists(st.binary(max_size=400), min_size=1, max_size=4), cut=st.integers(1, 50))
def test_compressed_body_is_restored_from_any_pieces(contents: list[bytes], cut: int) -> None:
    packed = b"".join(map(gzip.compress, contents))
    pieces = [packed[start : start + cut] for start in range(0, len(packed), cut)]
    assert read(pieces, Limits(max_body_bytes=10_000), content_encoding="gzip") == b"".join(contents)


@given(st.binary(max_size=300))
def test_any_bytes_are_decompressed_or_refused(content: bytes) -> None:
    with contextlib.suppress(Problem):
        read([content], content_encoding="gzip")
