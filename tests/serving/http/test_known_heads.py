"""Which bytes are one complete request, and heads that are known."""

import pytest

from fansrec.serving.http import known_heads
from fansrec.serving.http.known_heads import KnownHead, KnownHeads, parts_of

HEAD = b"POST /v1/continue HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nContent-Type: application/json\r\n\r\n"


def test_heads_are_equal_whatever_the_length_of_the_body() -> None:
    short, long = parts_of(HEAD % 2 + b"{}"), parts_of(HEAD % 12 + b"x" * 12)
    assert short is not None and long is not None
    assert short.head == long.head and (short.body, long.body) == (b"{}", b"x" * 12)


def test_heads_are_equal_whatever_the_trace_and_the_client_behind_a_proxy() -> None:
    more = b"X-Request-Id: %s\r\ntraceparent: %s\r\nx-forwarded-for: %s\r\nHost: a"
    first = parts_of(HEAD.replace(b"Host: a", more % (b"a-1", b"00-1-2-01", b"10.0.0.1, ::1")) % 2 + b"{}")
    second = parts_of(HEAD.replace(b"Host: a", more % (b"b", b"x", b"10.0.0.23")) % 3 + b"{ }")
    assert first is not None and second is not None and first.head == second.head
    assert first.values == {b"x-request-id": b"a-1", b"traceparent": b"00-1-2-01", b"x-forwarded-for": b"10.0.0.1, ::1"}
    assert second.values[b"x-request-id"] == b"b"


@pytest.mark.parametrize("value", [b" a", b"a ", b"a\tb", b'a"b', b"a\x00", "\u00e4".encode(), b"a" * 257, b""])
def test_values_that_the_parser_may_read_differently_stay_in_the_head(value: bytes) -> None:
    parts = parts_of(HEAD.replace(b"Host: a", b"X-Request-Id: %s" % value) % 2 + b"{}")
    assert parts is not None and not parts.values and value in parts.head


def test_every_other_difference_makes_another_head() -> None:
    data = HEAD % 2 + b"{}"
    known = parts_of(data)
    for place in range(len(data) - 6):  # neither in the blank line nor in the body
        if data[place : place + 1] != b"2":
            other = parts_of(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
            assert known is not None and (other is None or other.head != known.head), place


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\r\n\r\n",
        HEAD % 3 + b"{}",  # incomplete
        HEAD % 2 + b"{}" + HEAD % 2 + b"{}",  # two requests
        HEAD % 2 + b"{}x",
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        HEAD.replace(b"%d", b"-2") + b"{}",
        HEAD.replace(b"%d", b"2 ") + b"{}",
        HEAD.replace(b"%d", b"0x2") + b"{}",
        HEAD.replace(b"%d", b"2,2") + b"{}",
        HEAD.replace(b"%d", b"123456789") + b"{}",
        HEAD.replace(b"Content-Length: %d", b"X: 1") + b"Content-Length: 2\r\n\r\n",  # the length stands in the body
        HEAD.replace(b"Host: a", b"Host: " + b"a" * 3000) % 2 + b"{}",
        HEAD.replace(b"Host: a", b"content-length: 2") % 2 + b"{}",
        HEAD.replace(b"Host: a", b"X-Request-Id: a\r\nX-Request-Id: b") % 2 + b"{}",
    ],
)
def test_other_bytes_have_no_parts(data: bytes) -> None:
    assert parts_of(data) is None


def test_the_heads_that_were_used_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_heads, "MAX_HEADS", 2)
    heads = KnownHeads()
    for head in (b"a", b"b"):
        heads.add(head, KnownHead({}, 1.0))
    assert heads.get(b"a") is not None
    heads.add(b"a", KnownHead({}, 2.0))  # nothing is forgotten for a head that is there
    heads.add(b"c", KnownHead({}, 1.0))
    assert [heads.get(head) is not None for head in (b"a", b"b", b"c")] == [True, False, True]
