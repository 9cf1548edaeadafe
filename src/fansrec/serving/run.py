"""The life of `fans serve`: bind, load the models, serve, and stop on a signal without losing a request."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import uvloop

from fansrec.serving.http.logs import setup_logs
from fansrec.serving.http.sockets import bind, inherited_socket, url_of
from fansrec.serving.service import Service
from fansrec.serving.settings import Settings
from fansrec.serving.writes.folder import locked_folder

if TYPE_CHECKING:
    from fansrec.serving.server import Server

Announce = Callable[[str, Service], None]  # gets the URL and the service as soon as requests can be answered


def serve(settings: Settings, announce: Announce) -> None:
    """Serve until a signal stops it; a model that cannot be loaded raises the FansError that says why."""
    setup_logs(settings.log_style, settings.log_level)
    address = (settings.host, settings.port)
    inherited = inherited_socket(os.environ, os.getpid(), *address)
    with locked_folder(settings.writes), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, inherited or bind(*address), inherited is None, announce))


async def _serve(settings: Settings, listening: socket.socket, owned: bool, announce: Announce) -> None:
    loop = asyncio.get_running_loop()
    service = Service(settings, loop)
    loading = asyncio.ensure_future(service.start())
    try:
        server = (await asyncio.to_thread(_import_server))(service, owned)
    except BaseException:
        loading.cancel()
        await service.close()
        raise
    stop, notice_over = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _on_signal, stop, notice_over, server)
    serving = asyncio.ensure_future(server.serve(sockets=[listening]))
    starting = asyncio.ensure_future(_announce(loading, announce, url_of(*listening.getsockname()[:2]), service))
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((serving, starting, stopping), return_when=asyncio.FIRST_COMPLETED)
        if starting.done() and not starting.exception():
            await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
        service.draining = True
        if not starting.done() or not starting.exception():
            await _give_notice(settings.notice_s, serving, notice_over)
    finally:
        server.should_exit = True
        try:
            await serving
        finally:
            starting.cancel()
            await service.close()
    if starting.done() and not starting.cancelled():
        starting.result()


def _import_server() -> type["Server"]:
    """Import the web framework, in a thread: the other processes start and load the models meanwhile."""
    from fansrec.serving.server import Server

    return Server


async def _announce(loading: "asyncio.Future[None]", announce: Announce, url: str, service: Service) -> None:
    await loading
    announce(url, service)


async def _give_notice(seconds: float, serving: "asyncio.Future[None]", over: asyncio.Event) -> None:
    """Continue to answer but report not ready, so that load balancers send requests elsewhere first."""
    signaled = asyncio.ensure_future(over.wait())
    await asyncio.wait((serving, signaled), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    over.set()
    await signaled


def _on_signal(stop: asyncio.Event, notice_over: asyncio.Event, server: "Server") -> None:
    """First signal: stop after the notice. Second: end the notice. Third: do not wait for requests either."""
    if notice_over.is_set():
        server.force_exit = True
    elif stop.is_set():
        notice_over.set()
    stop.set()
