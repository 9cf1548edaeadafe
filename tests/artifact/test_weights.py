"""Mapping the arrays of a file of weights."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from fansrec.artifact.weights import check_header, map_arrays

ARRAYS = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "b": np.array(7, dtype=np.int64),
    "c": np.zeros((0, 4), "f4"),
}
OUTLINE = {"a": ("F32", (2, 3)), "b": ("I64", ()), "c": ("F32", (0, 4))}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    save_file(ARRAYS, tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def change_offsets(path: Path, name: str, offsets: list[Any]) -> None:
    """Replace the offsets of an array in the header, which keeps its size."""
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    header[name]["data_offsets"] = offsets
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[end:])


def test_arrays_are_those_of_the_file(path: Path) -> None:
    check_header(path, OUTLINE)
    arrays = map_arrays(path, OUTLINE)
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype and np.array_equal(arrays[name], array)


@pytest.mark.parametrize("offsets", [[0, 20], [0, 28], [1 << 40, (1 << 40) + 24], [-100, -76], [24, 0]])
def test_offsets_that_do_not_fit_are_refused(path: Path, offsets: list[int]) -> None:
    change_offsets(path, "a", offsets)
    with pytest.raises(ValueError):
        map_arrays(path, OUTLINE)


@pytest.mark.parametrize("offsets", [[0], [0, 1, 2], ["0", "24"], None])
def test_offsets_that_are_not_two_integers_are_refused(path: Path, offsets: Any) -> None:
    change_offsets(path, "a", offsets)
    with pytest.raises((ValueError, TypeError)):
        map_arrays(path, OUTLINE)
