"""The order of the tests names files that exist, and slow ones begin first."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import scheduling

ROOT = Path(__file__).parents[1]


def test_every_path_of_the_order_exists() -> None:
    assert [part for part in scheduling.FIRST if not (ROOT / part).exists()] == []


def test_workers_begin_with_what_takes_long() -> None:
    names = ["tests/api/test_a.py::test_b", "tests/docs/test_c.py::test_d", "tests/cluster/test_e.py::test_f"]
    items: list[Any] = [SimpleNamespace(nodeid=name) for name in names]
    scheduling.pytest_collection_modifyitems(SimpleNamespace(), items)  # type: ignore[arg-type]
    assert [item.nodeid for item in items] == names
    scheduling.pytest_collection_modifyitems(SimpleNamespace(workerinput={}), items)  # type: ignore[arg-type]
    assert [item.nodeid for item in items] == names[::-1]
