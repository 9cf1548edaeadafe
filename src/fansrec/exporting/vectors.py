"""The item vectors of a model as a file for other programs: Parquet, or NumPy's .npz."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.api.answers import Item
from fansrec.api.similar import ItemVectors
from fansrec.errors import BadSetting, not_installed
from fansrec.files import write_atomically


def check_suffix(path: Path) -> None:
    """Raise BadSetting if the name of a file does not say in which format it is."""
    if path.suffix not in WRITERS:
        raise BadSetting(f"{path} has none of the endings {' and '.join(WRITERS)}; choose one of them")


def write_vectors(found: ItemVectors, path: Path) -> None:
    """Write items and vectors to `path`: columns `item` and `vector` of Parquet, or arrays `items` and `vectors`.

    Ids keep their type if they have one type. Integers and texts beside each other are written as text, with a column
    or array `is_integer`.
    """
    check_suffix(path)
    write = WRITERS[path.suffix]
    write_atomically(path, lambda temporary: write(found, temporary))


def _write_npz(found: ItemVectors, path: Path) -> None:
    items = np.array(_of_one_type(found))  # texts of a fixed width, since an array of objects would be pickled
    arrays: dict[str, Any] = {"items": items, "vectors": found.vectors, **_types(found)}
    with path.open("wb") as file:
        np.savez(file, **arrays)


def _write_parquet(found: ItemVectors, path: Path) -> None:
    try:
        import polars as pl
    except ImportError as error:
        raise not_installed("polars", "train") from error
    columns = {"item": _of_one_type(found), "vector": found.vectors, **_types(found)}
    pl.DataFrame(columns).write_parquet(path)


def _is_mixed(found: ItemVectors) -> bool:
    """Return whether the ids need `is_integer`: there are integers and texts, or integers of more than 64 bits."""
    integers = [item for item in found.items if isinstance(item, int)]
    return bool(integers) and (len(integers) < len(found.items) or max(map(abs, integers)) >= 2**63)


def _of_one_type(found: ItemVectors) -> Sequence[Item]:
    return [str(item) for item in found.items] if _is_mixed(found) else found.items


def _types(found: ItemVectors) -> dict[str, NDArray[np.bool_]]:
    """Return whether each id is an integer, under the name of the column or array, if that has to be written."""
    return {"is_integer": np.array([isinstance(item, int) for item in found.items])} if _is_mixed(found) else {}


WRITERS: dict[str, Callable[[ItemVectors, Path], None]] = {".parquet": _write_parquet, ".npz": _write_npz}
