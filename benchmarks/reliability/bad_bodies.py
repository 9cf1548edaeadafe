"""Request bodies that are invalid, nearly valid or valid by chance: mutated bytes and values, and hypothesis."""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as some

NASTY: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**400,
    1e308, -0.0, 0.1, float("nan"), float("inf"),
    "", " ", "\0", "\ud800", "\udfff\ud800", "é" * 3, "a" * 100_000, "../../etc/passwd", "<script>",
    "t1", "Song 1 of the evening",
    [], [[]], [[[]]], {}, {"lists": []}, [None], [True], [[1e400]], ["t1"] * 3000, [["t1"]] * 300, {"": {}},
)  # fmt: skip
TOKENS = (
    b"NaN", b"Infinity", b"-Infinity", b"1e400", b"9" * 400, b"True", b"1_000", b"0x10", b"01", b"+1",
    b"\xff\xfe", b"\xed\xa0\x80", b'"\\ud800"', b"\\u0000", b"\x00", b"\xef\xbb\xbf",
    b"[" * 200, b'{"a":' * 200, b"//", b"/*", b"'",
)  # fmt: skip
FIELDS = ("lists", "k", "model", "exclude", "allow", "categories", "max_per_group", "keep_seen", "min_score", "fill")


def mutated(good: Sequence[bytes], count: int, seed: int) -> list[bytes]:
    """Return bodies that are one or several changes away from a valid one."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        body = chance.choice(good)
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            body = chance.choice(CHANGES)(body, chance)
        made.append(body)
    return made


def _another_byte(body: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(body) or 1)
    return body[:place] + bytes([chance.randrange(256)]) + body[place + 1 :]


def _cut(body: bytes, chance: random.Random) -> bytes:
    return body[: chance.randrange(len(body) + 1)]


def _without_some(body: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(body) or 1)
    return body[:place] + body[place + chance.randrange(1, 9) :]


def _with_more(body: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(body) + 1)
    return body[:place] + chance.choice(TOKENS) + body[place:]


def _twice(body: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(body) or 1)
    piece = body[start : start + chance.randrange(1, 40)]
    return body[:start] + piece + body[start:]


def _another_value(body: bytes, chance: random.Random) -> bytes:
    """Put a problematic value somewhere into the structure, if the body is still JSON."""
    try:
        request = json.loads(body)
    except ValueError:
        return _another_byte(body, chance)
    value = chance.choice(NASTY)
    if not isinstance(request, dict):
        return json.dumps(value).encode()
    name = chance.choice((*FIELDS, "lists", "surprise", ""))
    lists = request.get("lists")
    if name == "lists" and isinstance(lists, list) and lists and chance.random() < 0.7:
        inner = lists[0]
        if isinstance(inner, list) and inner and chance.random() < 0.7:
            inner[chance.randrange(len(inner))] = value
        else:
            lists[0] = value
    else:
        request[name] = value
    return json.dumps(request).encode()


CHANGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _another_byte, _cut, _without_some, _with_more, _twice, _another_value, _another_value, _another_value,
)  # fmt: skip


def values() -> some.SearchStrategy[Any]:
    """Return a strategy for any JSON value, and for some that Python writes although JSON does not have them."""
    single = some.one_of(
        some.none(), some.booleans(), some.integers(), some.floats(), some.text(max_size=20),
        some.sampled_from(NASTY), some.integers(2**62, 2**65),
    )  # fmt: skip

    def holding(inner: some.SearchStrategy[Any]) -> some.SearchStrategy[Any]:
        return some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=8), inner, max_size=4)

    return some.recursive(single, holding, max_leaves=12)


def requests(items: int) -> some.SearchStrategy[dict[str, Any]]:
    """Return a strategy for requests that are well-formed half of the time; otherwise fields may be anything."""
    item = some.integers(0, items + 10).map("t{}".format) | some.integers(0, items)
    lists = some.lists(some.lists(item, max_size=12).map(lambda given: [*given, "t1"]), min_size=1, max_size=4)
    rules = {
        "k": some.integers(1, 30), "model": some.sampled_from(["fans", "fans", "other"]),
        "exclude": some.lists(item, max_size=30),
        "allow": some.lists(item, max_size=30).map(lambda given: [*given, "t2"]),
        "categories": some.lists(some.integers(0, 9).map("mood {}".format), min_size=1, max_size=3),
        "max_per_group": some.integers(1, 3), "keep_seen": some.booleans(), "min_score": some.floats(-20, 20),
        "fill": some.sampled_from(["by-position", "depth-first", "arranged"]),
    }  # fmt: skip
    wrong = {name: some.one_of(strategy, strategy, values()) for name, strategy in rules.items()}
    return some.fixed_dictionaries({"lists": lists}, optional=rules) | some.fixed_dictionaries(
        {"lists": some.one_of(lists, lists, values())}, optional=wrong
    )


def by_hypothesis(items: int, count: int, start: int = 0) -> list[bytes]:
    """Return bodies of which three quarters are nearly requests and the rest is any JSON value."""
    made: list[bytes] = []
    for strategy, many in ((requests(items), count * 3 // 4), (values(), count - count * 3 // 4)):

        @seed(start)
        @settings(
            max_examples=many, database=None, deadline=None, suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        )  # fmt: skip
        @given(strategy)
        def keep(value: Any) -> None:
            made.append(json.dumps(value).encode("utf-8", "surrogatepass"))

        keep()
    return made
