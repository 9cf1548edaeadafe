"""The service from Python: `Client`, and `AsyncClient` for asyncio; both keep their connections open."""

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from random import Random
from types import TracebackType
from typing import Any, Self, Unpack
from urllib.parse import urlsplit

from fansrec import __version__
from fansrec.client.asking import (
    Answers,
    FoundItem,
    Rules,
    answers_of,
    continue_call,
    found_items,
    search_call,
    value_of,
)
from fansrec.client.retrying import Attempts, Call, Lost, Manner, Reply, reply_of
from fansrec.errors import BadSetting, MissingExtra

try:
    import anyio
    import httpx2
except ImportError as error:
    raise MissingExtra(f"{error.name} is not installed; run: pip install 'fansrec[client]'") from error

READY = Call("GET", "/health/ready")
MODELS = Call("GET", "/v1/models")
RELOAD = Call("POST", "/v1/models/reload", repeatable=False)
ROLLBACK = Call("POST", "/v1/models/rollback", repeatable=False)
LOADING_S = 120.0  # reading a model may take longer than using it
LONGEST_MS = 3_600_000  # the longest deadline a service takes


class Client:
    """Asks a service; threads may share one. A call with all its retries has `timeout` seconds."""

    def __init__(
        self,
        url: str,
        key: str | None = None,
        timeout: float = 10.0,
        retries: int = 4,
        *,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        random: Random | None = None,
    ) -> None:
        self._manner = Manner(timeout, retries, clock, random or Random())
        self._sleep = sleep
        self._http = httpx2.Client(base_url=_checked(url), headers=_headers(key), transport=transport)

    def continue_lists(
        self, lists: Sequence[Iterable[object]], k: int = 10, *, timeout: float | None = None, **rules: Unpack[Rules]
    ) -> Answers:
        """`k` distinct items for each list of item ids or names, or as many as the rules leave, with the reason.

        Rules: exclude, allow, categories, max_per_group, keep_seen, min_score; and model, where several are.
        """
        return answers_of(self._ask(continue_call(lists, k, rules), timeout))

    def search(self, text: str, limit: int = 10, model: str | None = None) -> list[FoundItem]:
        """Items by the beginning of their names, or by something like it."""
        return found_items(self._ask(search_call(text, limit, model)))

    def models(self) -> dict[str, Any]:
        """The models served, and the limits of a request."""
        return value_of(self._ask(MODELS))

    def ready(self) -> bool:
        """Whether the service would answer now."""
        return _is_ready(self._send(READY, self._manner.attempts()))

    def reload(self, timeout: float = LOADING_S) -> dict[str, Any]:
        """Make the service read its models again; needs an admin key."""
        return value_of(self._ask(RELOAD, timeout))

    def rollback(self, timeout: float = LOADING_S) -> dict[str, Any]:
        """Return to the models before the last reload; needs an admin key."""
        return value_of(self._ask(ROLLBACK, timeout))

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _ask(self, call: Call, timeout: float | None = None) -> Reply:
        attempts = self._manner.attempts(timeout)
        while True:
            outcome = self._send(call, attempts)
            pause = attempts.pause_after(call, outcome)
            if pause is None:
                return reply_of(outcome, attempts)
            self._sleep(pause)

    def _send(self, call: Call, attempts: Attempts) -> Reply | Lost:
        """Connecting, sending and each piece of the reply may take what was left at the start; the whole reply too."""
        body = bytearray()
        try:
            with self._http.stream(**_sent(call, attempts)) as response:
                for piece in response.iter_bytes():
                    body += piece
                    if not attempts.left():
                        return Lost("the deadline passed while the answer came", begun=True)
                return Reply(response.status_code, response.headers, bytes(body))
        except httpx2.RequestError as error:
            return _lost(error)


class AsyncClient:
    """The same, with `await`."""

    def __init__(
        self,
        url: str,
        key: str | None = None,
        timeout: float = 10.0,
        retries: int = 4,
        *,
        transport: httpx2.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[object]] = anyio.sleep,
        clock: Callable[[], float] = time.monotonic,
        random: Random | None = None,
    ) -> None:
        self._manner = Manner(timeout, retries, clock, random or Random())
        self._sleep = sleep
        self._http = httpx2.AsyncClient(base_url=_checked(url), headers=_headers(key), transport=transport)

    async def continue_lists(
        self, lists: Sequence[Iterable[object]], k: int = 10, *, timeout: float | None = None, **rules: Unpack[Rules]
    ) -> Answers:
        return answers_of(await self._ask(continue_call(lists, k, rules), timeout))

    async def search(self, text: str, limit: int = 10, model: str | None = None) -> list[FoundItem]:
        return found_items(await self._ask(search_call(text, limit, model)))

    async def models(self) -> dict[str, Any]:
        return value_of(await self._ask(MODELS))

    async def ready(self) -> bool:
        return _is_ready(await self._send(READY, self._manner.attempts()))

    async def reload(self, timeout: float = LOADING_S) -> dict[str, Any]:
        return value_of(await self._ask(RELOAD, timeout))

    async def rollback(self, timeout: float = LOADING_S) -> dict[str, Any]:
        return value_of(await self._ask(ROLLBACK, timeout))

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def _ask(self, call: Call, timeout: float | None = None) -> Reply:
        attempts = self._manner.attempts(timeout)
        while True:
            outcome = await self._send(call, attempts)
            pause = attempts.pause_after(call, outcome)
            if pause is None:
                return reply_of(outcome, attempts)
            await self._sleep(pause)

    async def _send(self, call: Call, attempts: Attempts) -> Reply | Lost:
        try:
            with anyio.fail_after(attempts.left()):
                response = await self._http.request(**_sent(call, attempts))
                return Reply(response.status_code, response.headers, response.content)
        except TimeoutError:
            return Lost("the deadline passed", begun=True)
        except httpx2.RequestError as error:
            return _lost(error)


def _checked(url: str) -> str:
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise BadSetting(f"{url!r} is no address of a service; write http://HOST:PORT")
    return url


def _headers(key: str | None) -> dict[str, str]:
    if key and not (key.isascii() and key.isprintable()):
        raise BadSetting("the key has characters that no key has; is there a newline at its end?")
    return {"User-Agent": f"fansrec/{__version__}"} | ({"Authorization": f"Bearer {key}"} if key else {})


def _sent(call: Call, attempts: Attempts) -> dict[str, Any]:
    """The service is told how long an answer is of use, so that it drops what nobody waits for."""
    left = max(attempts.left(), 0.001)
    headers = call.headers | {"Fans-Timeout-Ms": str(min(int(left * 1000), LONGEST_MS))}
    return {
        "method": call.method,
        "url": call.path,
        "params": call.params or None,
        "headers": headers,
        "content": call.body,
        "timeout": left,
    }


def _lost(error: httpx2.RequestError) -> Lost:
    never_sent = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
    return Lost(str(error) or type(error).__name__, begun=not isinstance(error, never_sent))


def _is_ready(outcome: Reply | Lost) -> bool:
    return isinstance(outcome, Reply) and outcome.status == 200
