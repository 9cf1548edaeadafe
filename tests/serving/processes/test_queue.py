import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fansrec.serving.processes.queue import Queue, Waiting


@pytest.fixture(scope="module", autouse=True)
def loop() -> Iterator[None]:
    made = asyncio.new_event_loop()
    asyncio.set_event_loop(made)
    yield
    made.close()


def waiting(id: int, tokens: int = 10, tries: int = 0) -> Waiting:
    answer: asyncio.Future[bytes] = asyncio.get_event_loop_policy().get_event_loop().create_future()
    return Waiting(id, "m", b"", tokens, 0.0, 1.0, answer, tries=tries)


def filled(*requests: Waiting, most: int = 100, tokens: int = 1000) -> Queue:
    queue = Queue(most, tokens)
    for request in requests:
        queue.put(request)
    return queue


def ids(batch: list[Waiting]) -> list[int]:
    return [request.id for request in batch]


@pytest.mark.parametrize(("there", "full"), [(2, False), (3, True), (4, True)])
def test_it_is_full_at_its_number_of_requests(there: int, full: bool) -> None:
    assert filled(*map(waiting, range(there)), most=3).full() is full


@pytest.mark.parametrize(("asked", "full"), [(79, False), (80, False), (81, True)])
def test_it_is_full_at_its_number_of_tokens(asked: int, full: bool) -> None:
    assert filled(waiting(0), waiting(1), tokens=100).full(asked) is full


def test_an_empty_queue_takes_a_request_of_any_size() -> None:
    assert not filled(tokens=10).full(10_000)


def test_a_batch_has_no_more_tokens_than_its_budget_and_keeps_the_order() -> None:
    queue = filled(*[waiting(n) for n in range(5)])
    assert ids(queue.take(25, 1)) == [0, 1]
    assert ids(queue.take(25, 1)) == [2, 3]
    assert (ids(queue.take(25, 1)), len(queue), queue.tokens) == ([4], 0, 0)


def test_a_request_over_the_budget_goes_alone() -> None:
    queue = filled(waiting(0, 500), waiting(1))
    assert [ids(queue.take(25, 1)), ids(queue.take(25, 1))] == [[0], [1]]


def test_workers_share_what_waits() -> None:
    queue = filled(*[waiting(n) for n in range(4)])
    assert ids(queue.take(1000, 2)) == [0, 1]


def test_a_request_over_which_a_worker_died_takes_no_other_with_it() -> None:
    queue = filled(waiting(0), waiting(1, tries=1), waiting(2))
    assert [ids(queue.take(1000, 1)) for _ in range(3)] == [[0], [1], [2]]


def test_what_is_put_back_comes_first() -> None:
    queue = filled(waiting(0), waiting(1))
    first = queue.take(10, 1)[0]
    queue.put_back(first)
    assert ids(queue.take(1000, 1)) == [0, 1]


def test_what_is_dropped_never_comes() -> None:
    request = waiting(0)
    queue = filled(request, waiting(1))
    assert queue.drop(request) and not queue.drop(request)
    assert ids(queue.take(1000, 1)) == [1]


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 1)), max_size=30), st.integers(1, 60), st.integers(1, 4))
def test_every_request_comes_exactly_once(requests: list[tuple[int, int]], budget: int, workers: int) -> None:
    queue = filled(*[waiting(n, tokens, tries) for n, (tokens, tries) in enumerate(requests)])
    taken: list[int] = []
    while queue:
        batch = queue.take(budget, workers)
        assert len(batch) == 1 or sum(request.tokens for request in batch) <= budget
        taken += ids(batch)
    assert (taken, queue.tokens) == (list(range(len(requests))), 0)
