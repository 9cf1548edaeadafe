"""Changes to the tensors of a model that a hostile author might make. Each returns what it did."""

import random
import struct

import numpy as np

from hostile.safetensors_bytes import TYPES, Tensors, read, write

INTEGERS = (-1, 0, 1, 2, 59, 60, 61, 64, 1000, 1 << 20, (1 << 31) - 1, -(1 << 31), 1 << 40, (1 << 63) - 1, -(1 << 63))
FLOATS = (float("nan"), float("inf"), -float("inf"), 3e38, -3e38, 1e30, -1e30, 1e-45, 0.0, -1.0, 60001.0)
SIZES = (0, -1, 1, 1 << 31, 1 << 40, 1 << 62, 1 << 64, 1.5, "2", None)


def values(tensors: Tensors, choose: random.Random) -> str:
    """Some numbers of a tensor replaced, or all."""
    name = choose.choice(list(tensors.data))
    array = tensors.array(name)
    floats = array.dtype.kind == "f"
    value = choose.choice(FLOATS if floats else INTEGERS)
    with np.errstate(over="ignore"):
        fitting = array.dtype.type(value) if floats else np.array(value).astype(array.dtype)
    count = len(array) if choose.random() < 0.2 else min(len(array), choose.choice((1, 1, 3, 20)))
    places = choose.sample(range(len(array)), count) if count < len(array) else slice(None)
    if count and choose.random() < 0.2:
        places = -1
    if len(array):
        array[places] = fitting
    tensors.put(name, array)
    return f"{count} of {name} set to {value}"


def order(tensors: Tensors, choose: random.Random) -> str:
    """All numbers kept, in another order, or moved by one: indices stay in range and mean something else."""
    name = choose.choice(list(tensors.data))
    array = tensors.array(name)
    way = choose.choice(("reversed", "sorted", "shuffled", "rolled", "plus one", "minus one", "doubled"))
    if way in ("reversed", "sorted", "rolled"):
        array = {"reversed": array[::-1], "sorted": np.sort(array), "rolled": np.roll(array, 1)}[way]
    elif way == "shuffled":
        array = array[np.array(choose.sample(range(len(array)), len(array)), dtype=np.int64)]
    else:
        array = array * 2 if way == "doubled" else array + array.dtype.type(1 if way == "plus one" else -1)
    tensors.put(name, array)
    return f"{name} {way}"


def dtype(tensors: Tensors, choose: random.Random) -> str:
    """Another type, with numbers turned into it, or the same bytes read as it."""
    name = choose.choice(list(tensors.data))
    kind = choose.choice([*TYPES, "BF16", "BOOL", "F8_E4M3", "X7"])
    array = tensors.array(name)
    if kind in TYPES and choose.random() < 0.7:
        with np.errstate(all="ignore"):
            array = array.astype(TYPES[kind])
    tensors.put(name, array, kind)
    return f"{name} as {kind}"


def shape(tensors: Tensors, choose: random.Random) -> str:
    """Another shape; half of the time with as many bytes as it needs."""
    name = choose.choice(list(tensors.header))
    sizes = list(tensors.header[name]["shape"])
    way = choose.choice(("reversed", "flat", "one more", "one fewer", "none", "deeper", "any", "empty"))
    changed = {
        "reversed": sizes[::-1],
        "flat": [int(np.prod(sizes))],
        "one more": [sizes[0] + 1, *sizes[1:]] if sizes else [2],
        "one fewer": [sizes[0] - 1, *sizes[1:]] if sizes else [],
        "none": [],
        "deeper": [1, *sizes],
        "any": [choose.choice(SIZES) for _ in range(choose.choice((1, 2, 9)))],
        "empty": [0, *sizes],
    }[way]
    tensors.header[name]["shape"] = changed
    plain = all(isinstance(size, int) and 0 <= size < 1 << 20 for size in changed)
    if plain and int(np.prod(changed)) < 1 << 20 and choose.random() < 0.7:
        tensors.put(name, np.resize(tensors.array(name), int(np.prod(changed))))
    return f"{name} of shape {sizes} as {changed}"


def names(tensors: Tensors, choose: random.Random) -> str:
    """A tensor gone, renamed, or one more."""
    name = choose.choice(list(tensors.header))
    way = choose.choice(("gone", "renamed", "more", "exchanged"))
    if way == "gone":
        del tensors.header[name], tensors.data[name]
    elif way == "exchanged":
        other = choose.choice(list(tensors.header))
        for of in (tensors.header, tensors.data):
            of[name], of[other] = of[other], of[name]  # type: ignore[index]
    else:
        new = choose.choice(("", "extra", "../x", "a" * 5000, "\x1b[31mred", "embed.items.weight.more", "__proto__"))
        tensors.header[new], tensors.data[new] = dict(tensors.header[name]), tensors.data[name]
        if way == "renamed":
            del tensors.header[name], tensors.data[name]
    return f"{name} {way}"


def offsets(tensors: Tensors, choose: random.Random) -> str:
    """Where a tensor lies in the file: outside, over another one, or nowhere."""
    name = choose.choice(list(tensors.header))
    total = sum(map(len, tensors.data.values()))
    pairs = (
        [0, total],
        [0, 0],
        [total, total],
        [0, 4],
        [-4, 4],
        [8, 4],
        [0, 1 << 62],
        [1 << 63, 1 << 64],
        [0],
        "x",
        None,
    )
    pair = choose.choice(pairs)
    tensors.header[name]["data_offsets"] = pair
    return f"{name} at {pair}"


TENSORS = (values, values, values, order, order, dtype, shape, names, offsets)


def tensors(content: bytes, choose: random.Random) -> tuple[bytes, str]:
    """Change one to three things of a weights file."""
    changed = read(content)
    made = [choose.choice(TENSORS)(changed, choose) for _ in range(choose.choice((1, 1, 1, 2, 3)))]
    return write(changed), ", ".join(made)


def header(content: bytes, choose: random.Random) -> tuple[bytes, str]:
    """Change the bytes of the header themselves."""
    (claimed,) = struct.unpack("<Q", content[:8])
    length = min(claimed, len(content) - 8)  # an earlier change may have claimed any length
    text, data = content[8 : 8 + length], content[8 + length :]
    way = choose.choice(("long", "short", "nested", "garbage", "cut", "empty", "metadata", "twice", "number"))
    if way == "long":
        return struct.pack("<Q", choose.choice((1 << 20, 1 << 40, (1 << 64) - 1))) + text + data, "header length"
    if way == "short":
        return struct.pack("<Q", length // 2) + text + data, "header cut short"
    if way == "cut":
        return content[: choose.randrange(len(content))], "file cut"
    changed = {
        "nested": b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
        "garbage": bytes(choose.randrange(256) for _ in range(length)),
        "empty": b"{}",
        "metadata": text[:1] + b'"__metadata__":{"format":"' + b"x" * 100_000 + b'"},' + text[1:],
        "twice": text[:-1].rstrip(b"} ") + b"}," + text[1:],
        "number": text.replace(b'"shape": [', b'"shape": [' + b"9" * 400 + b", ", 1),
    }[way]
    return struct.pack("<Q", len(changed)) + changed + data, f"header {way}"
