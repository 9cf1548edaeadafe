"""The clients: `Client`, and `AsyncClient` for asyncio; both keep their connections open."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from types import TracebackType
from typing import Any, Self, Unpack
from urllib.parse import urlsplit

from fansrec import __version__
from fansrec.api.answers import Answer, FoundItem
from fansrec.client.requests import (
    Answers,
    Rules,
    as_list,
    continue_request,
    events_request,
    parse_answers,
    parse_items,
    parse_json,
    parse_similar,
    parse_stored,
    search_request,
    similar_request,
)
from fansrec.client.retries import Attempts, NoResponse, Outcome, Request, Response, RetryPolicy, response_of
from fansrec.client.writes import items_request, lists_request, parse_written, remove_request
from fansrec.errors import BadSetting, not_installed

try:
    import anyio
    import httpx2
except ImportError as error:
    raise not_installed(str(error.name), "client") from error

READY = Request("GET", "/health/ready")
MODELS = Request("GET", "/v1/models")
RELOAD = Request("POST", "/v1/models/reload", repeatable=False)
ROLLBACK = Request("POST", "/v1/models/rollback", repeatable=False)
RELOAD_TIMEOUT_S = 120.0  # loading a model may take longer than using it
MAX_TIMEOUT_MS = 3_600_000  # the longest deadline that a service accepts


class _BaseClient:
    """What both clients have in common: address, key, timeout and retries."""

    _http_class: Any
    _wait: Any  # sleeps between two attempts

    def __init__(
        self,
        url: str,
        key: str | None = None,
        timeout: float = 10.0,
        retries: int = 4,
        *,
        transport: Any = None,  # this and the following replace parts in tests
        sleep: Callable[[float], Any] | None = None,
        clock: Callable[[], float] = time.monotonic,
        random: Random | None = None,
    ) -> None:
        self._policy = RetryPolicy(timeout, retries, clock, random or Random())
        self._sleep = sleep or self._wait
        self._http = self._http_class(base_url=_check_url(url), headers=_headers(key), transport=transport)


class Client(_BaseClient):
    """A client of a service, which threads may share.

    Args:
        url: Address of the service, `http://HOST:PORT`.
        key: API key, if the service has keys.
        timeout: Longest duration of each call, including its retries, in seconds.
        retries: Maximum number of retries of a call.

    Examples:
        >>> import fansrec
        >>> with fansrec.Client("http://127.0.0.1:8080") as client:
        ...     [answer] = client.continue_lists([["s1", "s2"]], k=3)
        >>> len(answer.items)
        3
    """

    _http_class, _wait = httpx2.Client, staticmethod(time.sleep)

    def continue_lists(
        self, lists: Sequence[Iterable[object]], k: int = 10, *, timeout: float | None = None, **rules: Unpack[Rules]
    ) -> Answers:
        """Return the continuation of each list.

        Args:
            lists: Lists of item ids or names.
            k: How many distinct items each continuation has; fewer, with a reason, if the rules leave fewer.
            timeout: Longest duration of this call in seconds.
            rules: exclude, allow, categories, max_per_group, keep_seen, min_score, diversity, popularity, freshness,
                fallback and explain, as those of `fansrec.load(RUN).continue_lists`; model, if the service has
                several; and client, a key by which a service with a split chooses one.

        Returns:
            One answer for each list.

        Examples:
            >>> [answer] = client.continue_lists([["s1", "s2"]], k=3, exclude=["s5"])
            >>> len(answer.items), "s5" in answer.items
            (3, False)
        """
        return parse_answers(self._call(continue_request(lists, k, rules), timeout))

    def search(self, text: str, limit: int = 10, model: str | None = None) -> list[FoundItem]:
        """Search items by name.

        Args:
            text: Start of a name; it may contain typos.
            limit: Maximum number of items.
            model: Name of the model, if the service has several.

        Returns:
            The items that match best, the best first.

        Examples:
            >>> client.search("Song 1", limit=1)[0].item
            's1'
        """
        return parse_items(self._call(search_request(text, limit, model)))

    def similar_items(self, items: Iterable[object], k: int = 10, model: str | None = None) -> list[Answer]:
        """Return for each item the `k` most similar ones, as `fansrec.load(RUN).similar_items` does.

        Args:
            items: Item ids or names; there is one request for each.
            k: How many items each answer has.
            model: Name of the model, if the service has several.

        Returns:
            One answer for each item, with similarities as scores.

        Examples:
            >>> [answer] = client.similar_items(["s1"], k=2)
            >>> len(answer.items)
            2
        """
        items = as_list(items)
        return [
            parse_similar(self._call(similar_request(item, k, model)), item, alone=len(items) == 1) for item in items
        ]

    def send_events(
        self, events: Iterable[Mapping[str, Any]], *, batch: str | None = None, timeout: float | None = None
    ) -> int:
        """Report what people were shown and accepted.

        Args:
            events: Events with the fields that docs/reference/serving.md describes.
            batch: Key by which the events of calls with the same key count once; by default a random one for each
                call, so its retries count once.
            timeout: Longest duration of this call in seconds.

        Returns:
            The number of events, which are stored durably.

        Examples:
            >>> client.send_events([{"type": "shown", "model": "mine", "count": 3, "client": "u-81c2"}])
            1
        """
        return parse_stored(self._call(events_request(events, batch), timeout))

    def add_lists(self, lists: Iterable[Mapping[str, Any]], timeout: float | None = None) -> int:
        """Add lists, or replace those with the same id; needs a write key.

        Args:
            lists: Lists with `id`, `items` and perhaps `title`.
            timeout: Longest duration of this call in seconds.

        Returns:
            The number of the write, which is on the disk.

        Examples:
            >>> client.add_lists([{"id": "p81", "items": ["s1", "s2"]}]) > 0
            True
        """
        return parse_written(self._call(lists_request(lists), timeout))

    def remove_list(self, id: str, timeout: float | None = None) -> int:
        """Remove a list; needs a write key.

        Args:
            id: The id that it was added with.
            timeout: Longest duration of this call in seconds.

        Returns:
            The number of the write, which is on the disk.

        Examples:
            >>> client.remove_list("p81") > 0
            True
        """
        return parse_written(self._call(remove_request(id), timeout))

    def add_items(self, items: Iterable[Mapping[str, Any]], timeout: float | None = None) -> int:
        """Add or describe items; needs a write key.

        Args:
            items: Items with `id` and perhaps `name`, `group`, `category` and `date`; what is left out stays as it is.
            timeout: Longest duration of this call in seconds.

        Returns:
            The number of the write, which is on the disk.

        Examples:
            >>> client.add_items([{"id": "s99", "name": "Song 99"}]) > 0
            True
        """
        return parse_written(self._call(items_request(items), timeout))

    def models(self) -> dict[str, Any]:
        """Describe the service.

        Returns:
            The models of the service and the limits of a request.

        Examples:
            >>> [model["name"] for model in client.models()["models"]]
            ['mine']
        """
        return parse_json(self._call(MODELS))

    def ready(self) -> bool:
        """Ask whether the service accepts requests now; does not retry.

        Returns:
            Whether it does.

        Examples:
            >>> client.ready()
            True
        """
        return _is_ready(self._send(READY, Attempts(self._policy)))

    def reload(self, timeout: float = RELOAD_TIMEOUT_S) -> dict[str, Any]:
        """Make the service reload its model folders; needs an admin key.

        Args:
            timeout: Longest duration of this call in seconds.

        Returns:
            The models, and the names of those that changed.

        Examples:
            >>> client.reload()["changed"]
            []
        """
        return parse_json(self._call(RELOAD, timeout))

    def rollback(self, timeout: float = RELOAD_TIMEOUT_S) -> dict[str, Any]:
        """Make the service return to the models before the last reload; needs an admin key.

        Args:
            timeout: Longest duration of this call in seconds.

        Returns:
            The models, and the names of those that changed.

        Examples:
            >>> try:
            ...     client.rollback()
            ... except fansrec.FansError as error:
            ...     print("no earlier models" in str(error))
            True
        """
        return parse_json(self._call(ROLLBACK, timeout))

    def close(self) -> None:
        """Close the connections; `with` does it too."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _call(self, request: Request, timeout: float | None = None) -> Response:
        attempts = Attempts(self._policy, timeout)
        while True:
            outcome = self._send(request, attempts)
            pause = attempts.next_pause(request, outcome)
            if pause is None:
                return response_of(outcome, attempts)
            self._sleep(pause)

    def _send(self, request: Request, attempts: Attempts) -> Outcome:
        """Send a request once; connecting, writing, reading and the whole response may each take the time left."""
        body = bytearray()
        try:
            with self._http.stream(**_http_arguments(request, attempts)) as response:
                for piece in response.iter_bytes():
                    body += piece
                    if not attempts.seconds_left():
                        return NoResponse("the deadline passed while the answer arrived", sent=True)
                return Response(response.status_code, response.headers, bytes(body))
        except httpx2.RequestError as error:
            return _no_response(error)


class AsyncClient(_BaseClient):
    """The same client for asyncio: every method is that of `Client`, awaited.

    Args:
        url: Address of the service, `http://HOST:PORT`.
        key: API key, if the service has keys.
        timeout: Longest duration of each call, including its retries, in seconds.
        retries: Maximum number of retries of a call.

    Examples:
        >>> import asyncio, fansrec
        >>> async def continued():
        ...     async with fansrec.AsyncClient("http://127.0.0.1:8080") as client:
        ...         return await client.continue_lists([["s1", "s2"]], k=3)
        >>> [answer] = asyncio.run(continued())
        >>> len(answer.items)
        3
    """

    _http_class, _wait = httpx2.AsyncClient, staticmethod(anyio.sleep)

    async def continue_lists(
        self, lists: Sequence[Iterable[object]], k: int = 10, *, timeout: float | None = None, **rules: Unpack[Rules]
    ) -> Answers:
        """Do the same as `Client.continue_lists`."""
        return parse_answers(await self._call(continue_request(lists, k, rules), timeout))

    async def search(self, text: str, limit: int = 10, model: str | None = None) -> list[FoundItem]:
        """Do the same as `Client.search`."""
        return parse_items(await self._call(search_request(text, limit, model)))

    async def similar_items(self, items: Iterable[object], k: int = 10, model: str | None = None) -> list[Answer]:
        """Do the same as `Client.similar_items`."""
        items = as_list(items)
        return [
            parse_similar(await self._call(similar_request(item, k, model)), item, alone=len(items) == 1)
            for item in items
        ]

    async def send_events(
        self, events: Iterable[Mapping[str, Any]], *, batch: str | None = None, timeout: float | None = None
    ) -> int:
        """Do the same as `Client.send_events`."""
        return parse_stored(await self._call(events_request(events, batch), timeout))

    async def add_lists(self, lists: Iterable[Mapping[str, Any]], timeout: float | None = None) -> int:
        """Do the same as `Client.add_lists`."""
        return parse_written(await self._call(lists_request(lists), timeout))

    async def remove_list(self, id: str, timeout: float | None = None) -> int:
        """Do the same as `Client.remove_list`."""
        return parse_written(await self._call(remove_request(id), timeout))

    async def add_items(self, items: Iterable[Mapping[str, Any]], timeout: float | None = None) -> int:
        """Do the same as `Client.add_items`."""
        return parse_written(await self._call(items_request(items), timeout))

    async def models(self) -> dict[str, Any]:
        """Do the same as `Client.models`."""
        return parse_json(await self._call(MODELS))

    async def ready(self) -> bool:
        """Do the same as `Client.ready`."""
        return _is_ready(await self._send(READY, Attempts(self._policy)))

    async def reload(self, timeout: float = RELOAD_TIMEOUT_S) -> dict[str, Any]:
        """Do the same as `Client.reload`."""
        return parse_json(await self._call(RELOAD, timeout))

    async def rollback(self, timeout: float = RELOAD_TIMEOUT_S) -> dict[str, Any]:
        """Do the same as `Client.rollback`."""
        return parse_json(await self._call(ROLLBACK, timeout))

    async def close(self) -> None:
        """Close the connections; `async with` does it too."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def _call(self, request: Request, timeout: float | None = None) -> Response:
        attempts = Attempts(self._policy, timeout)
        while True:
            outcome = await self._send(request, attempts)
            pause = attempts.next_pause(request, outcome)
            if pause is None:
                return response_of(outcome, attempts)
            await self._sleep(pause)

    async def _send(self, request: Request, attempts: Attempts) -> Outcome:
        try:
            with anyio.fail_after(attempts.seconds_left()):
                response = await self._http.request(**_http_arguments(request, attempts))
                return Response(response.status_code, response.headers, response.content)
        except TimeoutError:
            return NoResponse("the deadline passed", sent=True)
        except httpx2.RequestError as error:
            return _no_response(error)


def _check_url(url: str) -> str:
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise BadSetting(f"{url!r} is not the address of a service; write http://HOST:PORT")
    return url


def _headers(key: str | None) -> dict[str, str]:
    if key and not (key.isascii() and key.isprintable()):
        raise BadSetting("the API key contains characters that keys never have; check it for a trailing newline")
    return {"User-Agent": f"fansrec/{__version__}"} | ({"Authorization": f"Bearer {key}"} if key else {})


def _http_arguments(request: Request, attempts: Attempts) -> dict[str, Any]:
    """Return the arguments of the HTTP library; a header carries the time left, after which the service gives up."""
    left = max(attempts.seconds_left(), 0.001)
    headers = request.headers | {"Fans-Timeout-Ms": str(min(int(left * 1000), MAX_TIMEOUT_MS))}
    return {
        "method": request.method,
        "url": request.path,
        "params": request.params or None,
        "headers": headers,
        "content": request.body,
        "timeout": left,
    }


def _no_response(error: httpx2.RequestError) -> NoResponse:
    never_sent = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
    return NoResponse(str(error) or type(error).__name__, sent=not isinstance(error, never_sent))


def _is_ready(outcome: Outcome) -> bool:
    return isinstance(outcome, Response) and outcome.status == 200
