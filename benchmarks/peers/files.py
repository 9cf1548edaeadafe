"""The files by which `python -m benchmarks.peers` and its worker processes exchange lists, jobs and results."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Lists = list[NDArray[np.int64]]


def write_lists(path: Path, lists: Sequence[NDArray[Any]]) -> None:
    """Write lists of item indices as their concatenated items and the offsets of the lists."""
    lengths = np.array([len(one) for one in lists], dtype=np.int64)
    items = np.concatenate([np.empty(0, dtype=np.int64), *lists])
    np.savez(path, items=items, offsets=np.concatenate([[0], np.cumsum(lengths)]))


def read_lists(path: Path) -> Lists:
    with np.load(path, allow_pickle=False) as stored:
        return np.split(stored["items"], stored["offsets"][1:-1])


def write_json(path: Path, value: Any) -> None:
    """Write JSON to a temporary name and rename it, so that a reader never sees half a file."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(value), encoding="utf-8")
    os.replace(temporary, path)


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def answers_file(folder: Path, number: int) -> Path:
    """Return the file of the answers of a candidate, counted from 0: item indices (lists, k), -1 where shorter."""
    return folder / f"answers-{number}.npy"


def results_file(folder: Path) -> Path:
    """Return the file of the times of all candidates that are finished."""
    return folder / "results.json"
