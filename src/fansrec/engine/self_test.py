"""`python -m fansrec.engine.self_test`: continue a list with a small model and compare the items with the known ones.

`fans doctor` runs it in a child process, which an illegal instruction may kill. It prints a line of JSON about the
native kernel before it runs it, and one with the result.
"""

import json
import sys
from typing import Any

import numpy as np

from fansrec.engine.backends import open_engine
from fansrec.engine.native.compile import library_path
from fansrec.engine.native.library import CHOICES, chosen, missing
from fansrec.engine.rules import Rules
from fansrec.errors import FansError
from fansrec.models.sequence.config import FansConfig
from fansrec.models.stored import FANS, StoredModel

ITEMS, CATEGORIES, GIVEN = 200, 4, (3, 14, 15, 92, 65)
EXPECTED = (128, 122, 131, 125, 119, 100, 112, 147, 103, 137)  # what every backend answers


def small_model() -> StoredModel:
    """Return a FANS model whose weights are the same on every machine: a short cycle of numbers, no random draws."""
    starts = tuple(range(0, ITEMS + 1, ITEMS // CATEGORIES))
    config = FansConfig(category_starts=starts, positions=32, width=32, layers=2, heads=2, feedforward=64)
    arrays, used = {}, 0
    for name, (_, shape) in FANS.outline(config).items():
        size = int(np.prod(shape))
        cycle = (np.arange(used, used + size, dtype=np.int64) * 7919 + 13) % 10007
        arrays[name] = (cycle / 10007 - 0.5).astype(np.float32).reshape(shape)
        used += size
    return StoredModel(FANS, config, arrays)


def answer(backend: str = "auto") -> tuple[str, list[int]]:
    """Return the name of the backend and the items that continue the list."""
    engine = open_engine(small_model(), ITEMS, backend=backend)
    (found,) = engine.continue_lists([np.array(GIVEN)], 10, Rules())
    return engine.backend, found.items.tolist()


def kernel() -> dict[str, Any]:
    """Return which native kernels are installed, which one is used, and what prevents that."""
    compiled = [name for name in reversed(CHOICES) if name != "off" and library_path(name).exists()]
    problem = missing()
    return {"instructions": None if problem else chosen(), "compiled": compiled, "problem": problem}


def main() -> int:
    """Print both lines; return 0 if the items are the known ones."""
    try:
        print(json.dumps(kernel()), flush=True)
        backend, items = answer()
        wrong = None if items == list(EXPECTED) else f"the {backend} backend gives other items than it should: {items}"
        print(json.dumps({"passed": wrong is None, "backend": backend, "problem": wrong}), flush=True)
    except FansError as error:
        print(json.dumps({"passed": False, "backend": None, "problem": error.on_command_line}), flush=True)
        return 2
    return 0 if wrong is None else 1


if __name__ == "__main__":
    sys.exit(main())
