"""Damaged copies of a valid model; most have correct checksums of their wrong content."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any


def broken_models(good: Path, folder: Path) -> dict[str, Path]:
    """Write one copy per kind of damage and return their folders by kind."""
    made = {}
    for name, harm in HARM.items():
        copy = folder / name.replace(" ", "-")
        shutil.copytree(good, copy)
        harm(copy)
        made[name] = copy
    return made | {"not there": folder / "nowhere"}


def _flip(folder: Path) -> None:
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _truncate(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _truncate_and_seal(folder: Path) -> None:
    from fansrec.artifact import seal

    _truncate(folder)
    seal(folder)


def _change_weights(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    from safetensors.torch import load_file, save_file

    from fansrec.artifact import seal

    weights = {name: tensor.clone() for name, tensor in load_file(folder / "model.safetensors").items()}
    change(weights)
    save_file(weights, folder / "model.safetensors")
    seal(folder)


def _wrong_shape(folder: Path) -> None:
    def cut(weights: dict[str, Any]) -> None:
        name = max(weights, key=lambda name: weights[name].numel())
        weights[name] = weights[name][:-1].clone()

    _change_weights(folder, cut)


def _not_a_number(folder: Path) -> None:
    def spoil(weights: dict[str, Any]) -> None:
        name = max(weights, key=lambda name: weights[name].numel())
        weights[name].view(-1)[-1] = float("nan")

    _change_weights(folder, spoil)


HARM: dict[str, Callable[[Path], object]] = {
    "one bit changed": _flip,
    "cut short": _truncate,
    "cut short and sealed": _truncate_and_seal,
    "wrong shape": _wrong_shape,
    "not a number": _not_a_number,
    "no manifest": lambda folder: (folder / "manifest.json").unlink(),
    "no items": lambda folder: (folder / "items.jsonl").unlink(),
}
