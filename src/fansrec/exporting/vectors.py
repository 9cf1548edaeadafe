"""The item vectors of a model as a file for other programs: Parquet, or NumPy's .npz."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from fansrec.api.similar import ItemVectors
from fansrec.errors import BadSetting, not_installed
from fansrec.files import write_atomically


def check_suffix(path: Path) -> None:
    """Raise BadSetting if the name of a file does not say in which format it is."""
    if path.suffix not in WRITERS:
        raise BadSetting(f"{path} has none of the endings {' and '.join(WRITERS)}; choose one of them")


def write_vectors(found: ItemVectors, path: Path) -> None:
    """Write items and vectors to `path`: columns `item` and `vector` of Parquet, or arrays `items` and `vectors`."""
    check_suffix(path)
    write = WRITERS[path.suffix]
    write_atomically(path, lambda temporary: write(found, temporary))


def _write_npz(found: ItemVectors, path: Path) -> None:
    with path.open("wb") as file:  # texts of a fixed width, since an array of objects would be pickled
        np.savez(file, items=np.array(found.items), vectors=found.vectors)


def _write_parquet(found: ItemVectors, path: Path) -> None:
    try:
        import polars as pl
    except ImportError as error:
        raise not_installed("polars", "train") from error
    pl.DataFrame({"item": found.items, "vector": found.vectors}).write_parquet(path)


WRITERS: dict[str, Callable[[ItemVectors, Path], None]] = {".parquet": _write_parquet, ".npz": _write_npz}
