"""The corpus of shards: items numbered at last, files written by the tasks that hold them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import ray
from numpy.typing import NDArray

from fansrec.cluster.preparing.gathering import Shard
from fansrec.cluster.preparing.tasks import task
from fansrec.data.shards import Items, read_items, shard_name
from fansrec.files import write_atomically


def write_items(folder: Path, shards: Sequence[ray.ObjectRef], numbers: NDArray[np.int32]) -> Items:
    """One file a shard; read back they are the corpus's items."""
    shared = ray.put(numbers)
    ray.get([task(_written, str(folder / shard_name(place)), shard, shared) for place, shard in enumerate(shards)])
    return read_items(folder)


def _written(path: str, shard: Shard, numbers: NDArray[np.int32]) -> None:
    items = numbers[shard.lists.items]

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.save(file, items)

    write_atomically(Path(path), write)
