"""Tasks divided among threads."""

import threading
from collections.abc import Iterator

import pytest
import torch

from fansrec.models.threads import map_in_threads


@pytest.fixture(params=[1, 2, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_results_are_in_the_order_of_the_tasks(threads: int) -> None:
    assert map_in_threads(lambda task: task * task, range(20)) == [task * task for task in range(20)]


def test_torch_uses_one_thread_inside_and_as_many_as_before_afterwards(threads: int) -> None:
    assert set(map_in_threads(lambda _: torch.get_num_threads(), range(20))) == {1}
    later: list[int] = []
    thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert [torch.get_num_threads(), *later] == [threads, threads]


def test_error_of_a_task_is_raised(threads: int) -> None:
    with pytest.raises(ZeroDivisionError):
        map_in_threads(lambda task: 1 // task, range(3))
    assert torch.get_num_threads() == threads


def test_tasks_for_another_device_stay_in_this_thread(threads: int) -> None:
    assert set(map_in_threads(lambda _: threading.get_ident(), range(20), "cuda")) == {threading.get_ident()}
    assert (threading.get_ident() in map_in_threads(lambda _: threading.get_ident(), range(20))) == (threads == 1)
