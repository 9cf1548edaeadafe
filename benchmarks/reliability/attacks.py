"""Requests that no HTTP library would send: malformed HTTP, and valid HTTP that is unusual."""

import gzip
import random
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

BODY = b'{"lists": [["t1", "t2", "t3"]], "k": 3}'


@dataclass(frozen=True)
class Attack:
    """Bytes to send in pieces with pauses; then the client waits, half-closes the connection or resets it."""

    name: str
    pieces: Sequence[bytes]
    pause: float = 0.0
    then: str = "wait"  # wait, half-close, reset
    requests: int = 1  # number of requests that the service may find in it
    answers: int = 1  # maximum number of answers to wait for
    right: bool = False  # whether all answers must be 200


def post(
    body: bytes = BODY, *fields: bytes, length: bytes | None = None, line: bytes = b"POST /v1/continue HTTP/1.1"
) -> bytes:
    head = [line, b"Host: localhost", b"Content-Type: application/json", *fields]
    head.append(b"Content-Length: " + (length if length is not None else str(len(body)).encode()))
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def chunked(*chunks: bytes, fields: Sequence[bytes] = ()) -> bytes:
    head = [
        b"POST /v1/continue HTTP/1.1",
        b"Host: localhost",
        b"Content-Type: application/json",
        b"Transfer-Encoding: chunked",
    ]
    return b"\r\n".join([*head, *fields]) + b"\r\n\r\n" + b"".join(chunks)


def get(target: bytes, *fields: bytes, version: bytes = b"HTTP/1.1", method: bytes = b"GET") -> bytes:
    return b"\r\n".join([method + b" " + target + b" " + version, b"Host: localhost", *fields]) + b"\r\n\r\n"


def bomb(megabytes: int) -> bytes:
    """Return compressed spaces, a thousandth of their original size."""
    packer, block = zlib.compressobj(9, zlib.DEFLATED, 31), b" " * (1 << 20)
    return b"".join([*(packer.compress(block) for _ in range(megabytes)), packer.flush()])


def gzipped(content: bytes) -> bytes:
    return post(content, b"Content-Encoding: gzip")


def attacks() -> list[Attack]:
    good, packed, big = post(), gzip.compress(BODY), bomb(64)
    one = b"%x\r\n%s\r\n" % (len(BODY), BODY)
    plain = {
        "two lengths": post(BODY, b"Content-Length: 5"),
        "two lengths alike": post(BODY, b"Content-Length: %d" % len(BODY)),
        "length and chunks": chunked(one, b"0\r\n\r\n", fields=[b"Content-Length: 4"]),
        "negative length": post(length=b"-1"),
        "length with a sign": post(length=b"+%d" % len(BODY)),
        "length of letters": post(length=b"many"),
        "length beyond all": post(length=b"9" * 40),
        "length of 2^63": post(length=b"9223372036854775808"),
        "length in a list": post(length=b"%d, %d" % (len(BODY), len(BODY))),
        "no length": b"POST /v1/continue HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\r\n",
        "chunk of no size": chunked(b"zz\r\n", one),
        "chunk beyond all": chunked(b"f" * 20 + b"\r\n", BODY),
        "chunk of negative size": chunked(b"-5\r\nhello\r\n0\r\n\r\n"),
        "chunk that lies": chunked(b"3\r\n" + BODY + b"\r\n0\r\n\r\n"),
        "chunks with long words": chunked(b"%x;%s\r\n%s\r\n0\r\n\r\n" % (len(BODY), b"a" * 50_000, BODY)),
        "chunks and trailers": chunked(one, b"0\r\nX: y\r\nContent-Length: 7\r\n\r\n"),
        "unknown transfer": post(BODY, b"Transfer-Encoding: cow"),
        "chunked twice": post(BODY, b"Transfer-Encoding: chunked, chunked"),
        "gzip bomb": gzipped(big),
        "gzip bomb in chunks": chunked(b"%x\r\n%s\r\n0\r\n\r\n" % (len(big), big), fields=[b"Content-Encoding: gzip"]),
        "gzip cut short": gzipped(packed[:-9]),
        "gzip of nothing": gzipped(b""),
        "gzip with a wrong sum": gzipped(packed[:-8] + b"\0" * 8),
        "gzip and more": gzipped(packed + b"rest"),
        "gzip twice": gzipped(packed + packed),
        "no gzip at all": gzipped(BODY),
        "brotli": post(BODY, b"Content-Encoding: br"),
        "gzip upon gzip": post(gzip.compress(packed), b"Content-Encoding: gzip, gzip"),
        "deep lists": post(b"[" * 100_000),
        "deep lists in the right place": post(b'{"lists": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"),
        "deep objects": post(b'{"lists": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}"),
        "not UTF-8": post(b'{"lists": [["\xff\xfe\xc3\x28"]]}'),
        "UTF-8 of a surrogate": post(b'{"lists": [["\xed\xa0\x80"]]}'),
        "half a surrogate": post(b'{"lists": [["\\ud800", "t1"]]}'),
        "half a surrogate in a rule": post(b'{"lists": [["t1"]], "exclude": ["\\udfff"]}'),
        "half a surrogate in a name": post(b'{"lists": [["t1"]], "model": "\\udfff"}'),
        "half a surrogate as a field": post(b'{"lists": [["t1"]], "\\udfff": 1}'),
        "UTF-16": post(BODY.decode().encode("utf-16")),
        "a mark before it": post(b"\xef\xbb\xbf" + BODY),
        "NUL": post(b'{"lists": [["t1\\u0000"]]}'),
        "item 2^63": post(b'{"lists": [[9223372036854775808, "t1"]]}'),
        "item 10^400": post(b'{"lists": [[1' + b"0" * 400 + b', "t1"]]}'),
        "item 10^5000": post(b'{"lists": [[1' + b"0" * 5000 + b', "t1"]]}'),
        "k 2^63": post(b'{"lists": [["t1"]], "k": 9223372036854775808}'),
        "k 10^400": post(b'{"lists": [["t1"]], "k": 1' + b"0" * 400 + b"}"),
        "k 1e400": post(b'{"lists": [["t1"]], "k": 1e400}'),
        "groups 2^63": post(b'{"lists": [["t1"]], "max_per_group": 9223372036854775807}'),
        "NaN": post(b'{"lists": [["t1"]], "min_score": NaN}'),
        "infinity": post(b'{"lists": [["t1"]], "min_score": -Infinity}'),
        "score 1e400": post(b'{"lists": [["t1"]], "min_score": -1e400}'),
        "score 1e-400": post(b'{"lists": [["t1"]], "min_score": 1e-400}'),
        "one name twice": post(b'{"lists": [["t1"]], "lists": [["t2"]], "k": 1, "k": 2}'),
        "nothing": post(b""),
        "only spaces": post(b" " * 10_000),
        "header of 100 kB": get(b"/health/live", b"X: " + b"a" * 100_000),
        "5,000 headers": get(b"/health/live", *(b"X-%d: y" % number for number in range(5000))),
        "header without a colon": get(b"/health/live", b"nonsense"),
        "header with a NUL": get(b"/health/live", b"X: a\0b"),
        "header name with a space": get(b"/health/live", b"X Y: z"),
        "header on two lines": get(b"/health/live", b"X: a\r\n b"),
        "header with no name": get(b"/health/live", b": z"),
        "header of bytes": get(b"/health/live", b"X: \xff\xfe\x80"),
        "two hosts": get(b"/health/live", b"Host: y"),
        "no host": b"GET /health/live HTTP/1.1\r\n\r\n",
        "bare line feeds": b"GET /health/live HTTP/1.1\nHost: localhost\n\n",
        "path of 100 kB": get(b"/" + b"a" * 100_000),
        "query of 100 kB": get(b"/v1/items?search=" + b"a" * 100_000),
        "query that is not UTF-8": get(b"/v1/items?search=%ff%fe"),
        "query with a NUL": get(b"/v1/items?search=%00"),
        "query with half a surrogate": get(b"/v1/items?search=%ed%a0%80"),
        "query of quotes": get(b"/v1/items?search=%22%27)(*:-%20NEAR%20OR%20AND"),
        "thousand ids": get(b"/v1/items?" + b"&".join(b"id=t%d" % number for number in range(3000))),
        "limit 10^400": get(b"/v1/items?search=a&limit=1" + b"0" * 400),
        "path out of the house": get(b"/static/../../../../etc/passwd"),
        "path out, written otherwise": get(b"/static/..%2f..%2f..%2f..%2fetc/passwd"),
        "path with a NUL": get(b"/static/%00"),
        "path that is not UTF-8": get(b"/static/%ff"),
        "path with raw bytes": get(b"/\xff\xfe"),
        "whole address": get(b"http://elsewhere/health/live"),
        "star": get(b"*", method=b"OPTIONS"),
        "connect": get(b"x:443", method=b"CONNECT"),
        "method of its own": get(b"/health/live", method=b"BREW"),
        "small method": get(b"/health/live", method=b"get"),
        "method of 10 kB": get(b"/health/live", method=b"A" * 10_000),
        "version 0.9": b"GET /health/live\r\n\r\n",
        "version 1.0": get(b"/health/live", version=b"HTTP/1.0"),
        "version 3.7": get(b"/health/live", version=b"HTTP/3.7"),
        "version of letters": get(b"/health/live", version=b"HTTP/a.b"),
        "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)),
        "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9),
        "websocket": get(b"/v1/continue", b"Upgrade: websocket", b"Connection: Upgrade", b"Sec-WebSocket-Version: 13",
                         b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="),
        "upgrade to HTTP/2": get(b"/health/live", b"Upgrade: h2c", b"Connection: Upgrade, HTTP2-Settings",
                                 b"HTTP2-Settings: AAMAAABk"),
        "wrong key": get(b"/v1/models", b"Authorization: Bearer \xff\xfe"),
        "key of 20 kB": get(b"/v1/models", b"Authorization: Bearer " + b"a" * 20_000),
        "trace of nonsense": get(b"/v1/models", b"traceparent: 00-zz-\xff-01", b"X-Request-Id: \xff" + b"a" * 5000),
        "deadline of letters": post(BODY, b"Fans-Timeout-Ms: soon"),
        "deadline 10^400": post(BODY, b"Fans-Timeout-Ms: 1" + b"0" * 400),
        "deadline of other digits": post(BODY, "Fans-Timeout-Ms: ١٢".encode()),
        "kind with bytes": post(BODY, b"Content-Type: application/json; charset=\xff"),
        "reload without a key": get(b"/v1/models/reload", b"Content-Length: 0", method=b"POST"),
        "only line ends": b"\r\n" * 1000,
        "nonsense": bytes(range(1, 256)) * 4,
    }  # fmt: skip
    listed = [Attack(name, [content]) for name, content in plain.items()]
    head, _, rest = good.partition(b"\r\n\r\n")
    return [
        *listed,
        Attack("slow headers", [head[at : at + 1] for at in range(40)], pause=0.05),
        Attack("headers that never end", [head]),
        Attack("slow body", [head + b"\r\n\r\n", *(rest[at : at + 1] for at in range(len(rest) - 1))], pause=0.05),
        Attack("body that never ends", [head + b"\r\n\r\n" + rest[:9]]),
        Attack("piece by piece", [good[at : at + 7] for at in range(0, len(good), 7)], pause=0.002, right=True),
        Attack("asks first", [post(b"", b"Expect: 100-continue", length=b"%d" % len(BODY)), BODY], pause=0.02),
        Attack("thirty at once", [good * 30], requests=30, answers=30, right=True),
        Attack("three hundred at once", [good * 300], requests=300, answers=300),
        Attack("one, then nonsense", [good + b"\x00\x01nonsense\r\n\r\n"], requests=2, answers=2),
        Attack("one, then half of one", [good + good[: len(good) // 2]], then="half-close", requests=2, answers=2),
        Attack("gzip that is fine", [gzipped(packed)], right=True),
        Attack("chunks that are fine", [chunked(one, b"0\r\n\r\n")], right=True),
        Attack("nothing said, half closed", [b""], then="half-close"),
        Attack("half closed after it", [good], then="half-close"),
        Attack("half closed amid the body", [good[:-9]], then="half-close"),
        Attack("half closed amid the headers", [good[:30]], then="half-close"),
        Attack("reset at once", [b""], then="reset"),
        Attack("reset amid the headers", [good[:30]], then="reset"),
        Attack("reset amid the body", [good[:-9]], then="reset"),
        Attack("reset amid the answer", [good], then="reset"),
        Attack("reset amid thirty", [good * 30], then="reset", requests=30),
        Attack("reset amid a bomb", [gzipped(big)[: len(big) // 2]], then="reset"),
    ]  # fmt: skip


def fuzzed(count: int, seed: int) -> list[Attack]:
    """Return valid requests with some bytes changed, removed or added; the client half-closes, so that nobody waits."""
    chance = random.Random(seed)
    whole = chunked(b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY))
    good = (post(), get(b"/v1/models"), get(b"/v1/items?search=song"), whole)
    made = []
    for _ in range(count):
        content = chance.choice(good)
        for _ in range(chance.choice((1, 1, 2, 3, 8))):
            content = _changed(content, chance)
        made.append(Attack("fuzzed heads", [content], then="half-close"))
    return made


def _changed(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(content))
    new = chance.choice((bytes([chance.randrange(256)]), b"", bytes([chance.choice(b"\r\n:; ,\0\t\xff0a")])))
    return content[:place] + new + content[place + chance.randrange(2) :]
