import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fansrec.serving.processes.jobs import Job
from fansrec.serving.processes.queue import Queue, QueuedRequest


@pytest.fixture(scope="module", autouse=True)
def loop() -> Iterator[None]:
    made = asyncio.new_event_loop()
    asyncio.set_event_loop(made)
    yield
    made.close()


def request(id: int, tokens: int = 10, failures: int = 0) -> QueuedRequest:
    answer: asyncio.Future[bytes] = asyncio.get_event_loop_policy().get_event_loop().create_future()
    return QueuedRequest(Job(id, "m", [], 10, {}, 0.0, 1.0), tokens, answer, failures=failures)


def filled(*requests: QueuedRequest, max_requests: int = 100, tokens: int = 1000) -> Queue:
    queue = Queue(max_requests, tokens)
    for each in requests:
        queue.put(each)
    return queue


def ids(batch: list[QueuedRequest]) -> list[int]:
    return [each.id for each in batch]


@pytest.mark.parametrize(("count", "full"), [(2, False), (3, True), (4, True)])
def test_queue_is_full_at_its_maximum_number_of_requests(count: int, full: bool) -> None:
    assert filled(*map(request, range(count)), max_requests=3).full() is full


@pytest.mark.parametrize(("tokens", "full"), [(79, False), (80, False), (81, True)])
def test_queue_is_full_at_its_maximum_number_of_tokens(tokens: int, full: bool) -> None:
    assert filled(request(0), request(1), tokens=100).full(tokens) is full


def test_empty_queue_accepts_a_request_of_any_size() -> None:
    assert not filled(tokens=10).full(10_000)


def test_batch_respects_the_token_limit_and_the_order() -> None:
    queue = filled(*[request(n) for n in range(5)])
    assert ids(queue.take_batch(25, 1)) == [0, 1]
    assert ids(queue.take_batch(25, 1)) == [2, 3]
    assert (ids(queue.take_batch(25, 1)), len(queue), queue.tokens) == ([4], 0, 0)


def test_request_above_the_token_limit_is_a_batch_of_its_own() -> None:
    queue = filled(request(0, 500), request(1))
    assert [ids(queue.take_batch(25, 1)), ids(queue.take_batch(25, 1))] == [[0], [1]]


def test_batch_is_a_fair_share_for_each_worker() -> None:
    queue = filled(*[request(n) for n in range(4)])
    assert ids(queue.take_batch(1000, 2)) == [0, 1]


def test_request_that_failed_before_is_a_batch_of_its_own() -> None:
    queue = filled(request(0), request(1, failures=1), request(2))
    assert [ids(queue.take_batch(1000, 1)) for _ in range(3)] == [[0], [1], [2]]


def test_request_put_first_is_taken_first() -> None:
    queue = filled(request(0), request(1))
    first = queue.take_batch(10, 1)[0]
    queue.put_first(first)
    assert ids(queue.take_batch(1000, 1)) == [0, 1]


def test_removed_request_is_not_taken() -> None:
    removed = request(0)
    queue = filled(removed, request(1))
    assert queue.remove(removed) and not queue.remove(removed)
    assert ids(queue.take_batch(1000, 1)) == [1]


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 1)), max_size=30), st.integers(1, 60), st.integers(1, 4))
def test_every_request_is_taken_exactly_once(requests: list[tuple[int, int]], budget: int, workers: int) -> None:
    queue = filled(*[request(n, tokens, failures) for n, (tokens, failures) in enumerate(requests)])
    taken: list[int] = []
    while queue:
        batch = queue.take_batch(budget, workers)
        assert len(batch) == 1 or sum(each.tokens for each in batch) <= budget
        taken += ids(batch)
    assert (taken, queue.tokens) == (list(range(len(requests))), 0)
