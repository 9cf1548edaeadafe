"""Which process of pytest-xdist runs which tests, and in which order."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

# Folders whose tests share a local Ray, or a service and two models, which each process would start for itself.
TOGETHER = ("tests/cluster/", "tests/serving/page/")
# What takes long begins first: a process that is left with it at the end would work alone.
FIRST = (
    *TOGETHER,
    "tests/serving/",
    "tests/docs/",
    "tests/deploy/",
    "tests/data/test_published_counts.py",
    "tests/models/test_add_a_model.py",
    "tests/experiments/",
    "tests/engine/cuda/",
    "tests/engine/native/",
    "tests/training/test_processes.py",
    "tests/training/test_resume.py",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return a scheduler for `--dist loadfile` that also keeps the folders of TOGETHER in one process."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            folder = next(filter(nodeid.startswith, TOGETHER), None)
            return folder or str(super()._split_scope(nodeid))

    if config.getoption("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False  # the files with the most tests are not the slowest ones
    return Scheduling(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests of a process of pytest-xdist: xdist gives out the files in the order in which they are here."""
    if hasattr(config, "workerinput"):
        items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    return next((rank for rank, part in enumerate(FIRST) if item.nodeid.startswith(part)), len(FIRST))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without the garbage collector, which would visit millions of objects that all stay, also later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
