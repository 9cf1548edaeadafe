"""Changes to the settings and the JSON files of a model that a hostile author might make. Each returns what it did."""

import json
import random
from typing import Any

from artifacts import KINDS

HOSTILE: tuple[Any, ...] = (
    -1, 0, 1, 2, 3, 7, 61, 1000, 1 << 20, 1 << 31, 1 << 33, 1 << 63, 1 << 70, 10**400, 0.5, -0.5, 1e308, -1e308, 1e-320,
    float("nan"), float("inf"), -float("inf"), True, False, None, "", "7", "vanilla", "two-stage", "naive", "\x1b[2J\n",
    [], {}, [1], [[]], {"a": 1}, [0, 60], "a" * 5000,
)  # fmt: skip
TEXTS = (
    b"", b"{", b"[]", b"null", b"7", b'"x"', b"\xff\xfe{}", b"\xef\xbb\xbf{}", b"[" * 200_000, b'{"a":' * 50_000,
    b"[" * 50_000 + b"]" * 50_000, b"9" * 100_000, b'{"a": 1e999999}', b"NaN", b"\x00" * 100, b"{}\n" * 1000,
)  # fmt: skip
LINES = (
    b"", b"{}", b"7", b"null", b"[]", b'{"id": 7}', b'{"id": null}', b'{"id": ""}', b'{"id": []}', b'{"id": "i1"}',
    b'{"id": "x", "name": 5}', b'{"id": "x", "name": ["y"]}', b'{"id": "\\u0000"}', b'{"id": "\\ud800"}',
    b'{"id": "x", "name": "\\u001b[31mred\\nfans: forged line", "group": "\\u202e"}', b"[" * 100_000,
    b'{"id": "' + b"x" * 100_000 + b'"}', b'{"id": "x", "group": {}}', b"\xff", b'{"id": "x"', b'{"id": 1e400}',
)  # fmt: skip


def settings(content: bytes, choose: random.Random) -> tuple[bytes, str]:
    """One or two settings of the model replaced, removed or added."""
    config = json.loads(content)
    done = []
    for _ in range(choose.choice((1, 1, 2))):
        place = choose.choice(_sections(config["config"]))
        name = choose.choice([*place, "unknown_setting"])
        if choose.random() < 0.08:
            place.pop(name, None)
            done.append(f"no {name}")
        else:
            value = choose.choice(HOSTILE)
            place[name] = value
            done.append(f"{name} = {str(value)[:40]!r}")
    return json.dumps(config).encode(), ", ".join(done)


def _sections(config: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the settings of a model and those of its sections, if it has any."""
    return [config, *(value for value in config.values() if isinstance(value, dict))]


def starts(content: bytes, choose: random.Random) -> tuple[bytes, str]:
    """Where the categories start, in `config.json` or `categories.json`."""
    config = json.loads(content)
    place = config.get("config", config)
    key = "category_starts" if "config" in config else "starts"
    old = list(place[key])
    at = choose.randrange(len(old))
    value = choose.choice(HOSTILE)
    changed = choose.choice((
        [*old[:at], value, *old[at + 1 :]], old[::-1], old[:-1], [*old, old[-1]], [*old, 1 << 40], [0, *old],
        [old[0], old[-1]], [float(start) for start in old], [str(start) for start in old], [start * 2 for start in old],
        [0] * len(old), list(range(len(old))), [0, 1 << 31], list(range(61)), list(range(100_000)),
    ))  # fmt: skip
    place[key] = changed
    return json.dumps(config).encode(), f"{key} = {str(changed)[:60]}"


def top(content: bytes, choose: random.Random) -> tuple[bytes, str]:
    """Another model's name, another recipe, or the wrong types around them."""
    config = json.loads(content)
    key = choose.choice([*config, "training", "model", "recipe"])
    if key == "recipe":
        value: Any = choose.choice(("best", "paper", "none", 3, None, []))
        config["training"] = {"recipe": value}
    elif key == "model" and choose.random() < 0.7:
        value = config["model"] = choose.choice([*(name for name, _ in KINDS.values()), "fans-hybrid"])
    else:
        value = config[key] = choose.choice(HOSTILE)
    return json.dumps(config).encode(), f"{key} = {str(value)[:40]!r}"


def text(content: bytes, choose: random.Random) -> tuple[bytes, str]:
    """Another text altogether, or the same with some bytes changed."""
    if choose.random() < 0.5:
        changed = choose.choice(TEXTS)
        return changed, f"now {changed[:20]!r}… ({len(changed)} bytes)"
    at, byte = choose.randrange(len(content)), choose.randrange(256)
    return content[:at] + bytes([byte]) + content[at + 1 :], f"byte {at} is {byte}"


def lines(content: bytes, choose: random.Random) -> tuple[bytes, str]:
    """Lines of `items.jsonl` replaced, removed or repeated."""
    rows = content.splitlines()
    at = choose.randrange(len(rows))
    way = choose.choice(("replaced", "replaced", "replaced", "gone", "twice", "all the same", "many more"))
    line = choose.choice(LINES)
    if way == "replaced":
        rows[at] = line
    elif way == "gone":
        del rows[at]
    elif way == "twice":
        rows.insert(at, rows[at])
    else:
        rows = [rows[at]] * (len(rows) if way == "all the same" else 5000)
    return b"\n".join(rows) + b"\n", f"line {at} {way} {line[:30]!r}"


def category_names(content: bytes, choose: random.Random) -> tuple[bytes, str]:
    categories = json.loads(content)
    key = choose.choice(("names", "names", "integer_ids", "group_name", "more"))
    value = choose.choice((*HOSTILE, ["a"], ["a"] * 3, ["a"] * 5, [1, 2, 3, 4], ["a", None, [], {}], ["\x1b[31m"] * 4))
    categories[key] = value
    return json.dumps(categories).encode(), f"{key} = {str(value)[:40]!r}"
