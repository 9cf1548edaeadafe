"""Requests whose end can be read in two ways: a second request hidden in one of them must never be answered."""

import pytest

from serving.attacks.clients import BODY, Target, kind

SIZE = len(BODY)
HIDDEN = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
CHUNK = b"%x\r\n%s\r\n" % (SIZE, BODY)
END = b"0\r\n\r\n"
CHUNKED = "Transfer-Encoding: chunked"
LENGTH = f"Content-Length: {SIZE}"

# name: (fields after the key and the content type, what follows the empty line)
BODIES: dict[str, tuple[list[str], bytes]] = {
    "length and chunks": ([LENGTH, CHUNKED], CHUNK + END + HIDDEN),
    "chunks and length": ([CHUNKED, LENGTH], CHUNK + END + HIDDEN),
    "length 0 and chunks": (["Content-Length: 0", CHUNKED], CHUNK + END + HIDDEN),
    "two lengths": ([LENGTH, "Content-Length: 0"], BODY + HIDDEN),
    "two equal lengths": ([LENGTH, LENGTH], BODY + HIDDEN),
    "lengths in a list": ([f"Content-Length: {SIZE}, {SIZE}"], BODY + HIDDEN),
    "length with a plus": ([f"Content-Length: +{SIZE}"], BODY + HIDDEN),
    "negative length": (["Content-Length: -1"], BODY + HIDDEN),
    "hexadecimal length": ([f"Content-Length: 0x{SIZE:x}"], BODY + HIDDEN),
    "length with a space inside": (["Content-Length: 3 9"], BODY + HIDDEN),
    "length with a point": ([f"Content-Length: {SIZE}.0"], BODY + HIDDEN),
    "length beyond 64 bits": (["Content-Length: 18446744073709551655"], BODY + HIDDEN),
    "length of letters": (["Content-Length: many"], BODY + HIDDEN),
    "empty length": (["Content-Length:"], BODY + HIDDEN),
    "length and a space before the colon": ([f"Content-Length : {SIZE}"], BODY + HIDDEN),
    "chunked and a space before the colon": (["Transfer-Encoding : chunked"], CHUNK + END + HIDDEN),
    "chunked on a folded line": (["Transfer-Encoding:\r\n chunked"], CHUNK + END + HIDDEN),
    "any folded line": (["X: a\r\n b", LENGTH], BODY + HIDDEN),
    "chunked and identity": (["Transfer-Encoding: chunked, identity"], CHUNK + END + HIDDEN),
    "identity": (["Transfer-Encoding: identity"], BODY + HIDDEN),
    "chunked after an unknown coding": (["Transfer-Encoding: cow, chunked"], CHUNK + END + HIDDEN),
    "unknown coding": (["Transfer-Encoding: cow"], CHUNK + END + HIDDEN),
    "chunked with a prefix": (["Transfer-Encoding: xchunked"], CHUNK + END + HIDDEN),
    "chunked with a control character": (["Transfer-Encoding: \x0bchunked"], CHUNK + END + HIDDEN),
    "chunked in quotes": (['Transfer-Encoding: "chunked"'], CHUNK + END + HIDDEN),
    "chunked twice": ([CHUNKED, CHUNKED], CHUNK + END + HIDDEN),
    "chunked twice in a list": (["Transfer-Encoding: chunked, chunked"], CHUNK + END + HIDDEN),
    "chunk size of letters": ([CHUNKED], b"zz\r\n" + BODY + b"\r\n" + END + HIDDEN),
    "negative chunk size": ([CHUNKED], b"-%x\r\n%s\r\n" % (SIZE, BODY) + END + HIDDEN),
    "chunk size with 0x": ([CHUNKED], b"0x%x\r\n%s\r\n" % (SIZE, BODY) + END + HIDDEN),
    "chunk size beyond 64 bits": ([CHUNKED], b"1%016x\r\n%s\r\n" % (SIZE, BODY) + END + HIDDEN),
    "chunk size with a space before": ([CHUNKED], b" " + CHUNK + END + HIDDEN),
    "empty chunk size": ([CHUNKED], b"\r\n" + CHUNK + END + HIDDEN),
    "chunk longer than its size": ([CHUNKED], b"3\r\n" + BODY + b"\r\n" + END + HIDDEN),
    "chunk that ends in a line feed": ([CHUNKED], b"%x\r\n%s\n" % (SIZE, BODY) + END + HIDDEN),
    "chunk size that ends in a line feed": ([CHUNKED], b"%x\n%s\r\n" % (SIZE, BODY) + END + HIDDEN),
    "chunk size that ends in a carriage return": ([CHUNKED], b"%x\r%s\r\n" % (SIZE, BODY) + END + HIDDEN),
    "line feed in a chunk extension": ([CHUNKED], b"%x;a\nb\r\n%s\r\n" % (SIZE, BODY) + END + HIDDEN),
    "large chunk extension": ([CHUNKED], b"%x;%s\r\n%s\r\n" % (SIZE, b"a" * 80_000, BODY) + END),
    "many chunk extensions": ([CHUNKED], b"".join(b"1;%s\r\n \r\n" % (b"a" * 1000) for _ in range(80)) + CHUNK + END),
    "header with a NUL": (["X: a\0b", LENGTH], BODY + HIDDEN),
    "header with a bare carriage return": (["X: a\rTransfer-Encoding: chunked", LENGTH], BODY + HIDDEN),
    "header without a colon": (["nonsense", LENGTH], BODY + HIDDEN),
    "header without a name": ([": a", LENGTH], BODY + HIDDEN),
    "key twice": (["Authorization: Bearer other", LENGTH, "Connection: close"], BODY),
    "content type twice": (["Content-Type: text/plain", LENGTH, "Connection: close"], BODY),
    "host twice": (["Host: evil.example", LENGTH, "Connection: close"], BODY),
}  # fmt: skip


def test_number_of_ambiguous_requests() -> None:
    assert len(BODIES) == 47


@pytest.mark.parametrize("name", BODIES)
def test_ambiguous_request_is_refused_and_ends_the_connection(attacked: Target, name: str) -> None:
    fields, rest = BODIES[name]
    found = attacked.send(attacked.head("POST /v1/continue HTTP/1.1", *fields) + b"\r\n" + rest)
    assert [answer.status for answer in found] in ([400], [413], [431]), found
    assert found[0].headers["connection"] == "close"


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_chunked_body_is_accepted_from_http_1_1_only(attacked: Target, version: str) -> None:
    head = attacked.head(f"POST /v1/continue HTTP/{version}", CHUNKED, "Connection: close")
    [answer] = attacked.send(head + b"\r\n" + CHUNK + END)
    assert answer.status == (400 if version == "1.0" else 200)
    assert version == "1.1" or kind(answer) == "chunked-http-1.0"


def test_http_1_0_with_a_length_is_answered(attacked: Target) -> None:
    [answer] = attacked.send(attacked.head("POST /v1/continue HTTP/1.0", LENGTH) + b"\r\n" + BODY)
    assert answer.status == 200


@pytest.mark.parametrize("name", ["Authorization", "Content-Type", "Host", "X-API-Key"])
def test_refusal_names_the_repeated_header(attacked: Target, name: str) -> None:
    head = attacked.head("POST /v1/continue HTTP/1.1", f"{name}: a", f"{name}: b", LENGTH, "Connection: close")
    [answer] = attacked.send(head + b"\r\n" + BODY)
    assert kind(answer) == "repeated-header" and name.lower() in answer.body.decode().lower()


def test_small_chunk_extensions_and_many_small_chunks_are_accepted(attacked: Target) -> None:
    pieces = b"".join(b"1;a=b\r\n%c\r\n" % byte for byte in BODY) + b"".join(b"1\r\n \r\n" for _ in range(40_000))
    [answer] = attacked.send(
        attacked.head("POST /v1/continue HTTP/1.1", CHUNKED, "Connection: close") + b"\r\n" + pieces + END
    )
    assert answer.status == 200


@pytest.mark.parametrize(
    "request_",
    [b"GET /health/live HTTP/1.1\nHost: localhost\n\n", b"\0GET / HTTP/1.1\r\n\r\n",
     b"GET /health/live\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00" + bytes(range(200)),
     b"GET /health/live HTTP/3.7\r\nHost: localhost\r\n\r\n", b"GET\t/health/live\tHTTP/1.1\r\n\r\n"],
)  # fmt: skip
def test_other_protocols_are_refused(attacked: Target, request_: bytes) -> None:
    assert [answer.status for answer in attacked.send(request_)] == [400]


def test_service_is_unharmed(target: Target) -> None:
    assert target.ask().status_code == 200
