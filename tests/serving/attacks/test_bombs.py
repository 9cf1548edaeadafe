"""Small requests that would become large ones: by decompression, by nesting, by what they ask for."""

import gzip
import zlib

import pytest

from serving.attacks.clients import Target

MIB = 2**20


def zipped(megabytes: int) -> bytes:
    """Spaces, a thousandth of their size."""
    packer, block = zlib.compressobj(9, zlib.DEFLATED, 31), b" " * MIB
    return b"".join([*(packer.compress(block) for _ in range(megabytes)), packer.flush()])


PACKED = {
    "a bomb of 64 MiB": zipped(64),
    "a bomb of many members": gzip.compress(b" " * MIB) * 40,
    "a bomb in a bomb": gzip.compress(zipped(64)),
    "a bomb cut short": zipped(3)[:-9],
    "a member without an end": gzip.compress(b"{}") + b"\x1f\x8b\x08",
}
PLAIN = {
    "deep lists": b"[" * 200_000,
    "deep objects": b'{"a":' * 100_000,
    "deep lists of a list": b'{"lists": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "many lists": b'{"lists": [' + b"[]," * 200_000 + b"[]]}",
    "many items": b'{"lists": [[' + b"1," * 400_000 + b"1]]}",
    "a long item": b'{"lists": [["' + b"a" * 900_000 + b'"]]}',
    "a long number": b'{"lists": [[' + b"9" * 900_000 + b"]]}",
    "a number with a large exponent": b'{"lists": [["i1"]], "min_score": 1e999999999}',
    "a long k": b'{"lists": [["i1"]], "k": ' + b"9" * 10_000 + b"}",
    "many names": b"{" + b",".join(b'"n%d": 1' % number for number in range(80_000)) + b"}",
    "one name many times": b"{" + b",".join([b'"k": 1'] * 100_000) + b"}",
    "many escapes": b'{"lists": [["' + b"\\u0000" * 150_000 + b'"]]}',
    "half surrogates": b'{"lists": [["\\ud800"]]}',
    "not a number": b'{"lists": [["i1"]], "min_score": NaN}',
}


@pytest.mark.parametrize("name", PACKED)
def test_compressed_bomb_is_refused(target: Target, name: str) -> None:
    headers = target.headers | {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    refused = target.running.http.post("/v1/continue", content=PACKED[name], headers=headers)
    assert refused.status_code in (400, 413, 422)


@pytest.mark.parametrize("name", PLAIN)
def test_json_bomb_is_refused(target: Target, name: str) -> None:
    headers = target.headers | {"Content-Type": "application/json"}
    refused = target.running.http.post("/v1/continue", content=PLAIN[name], headers=headers)
    assert refused.status_code == 422 and len(refused.content) < 20_000


def test_lists_times_k_are_limited(target: Target) -> None:
    limits = target.running.http.get("/v1/models", headers=target.headers).json()["limits"]
    assert limits["answer_items"] == 25_600
    refused = target.running.ask([["i1"]] * 256, k=101, headers=target.headers)
    assert refused.status_code == 422 and refused.json()["type"] == "urn:fansrec:answer-too-large"
    assert refused.json()["limit"] == 25_600 and "split it" in refused.json()["detail"]
    assert target.running.ask([["i1"]] * 256, k=100, headers=target.headers).status_code == 200
