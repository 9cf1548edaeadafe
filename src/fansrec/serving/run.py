"""From `fans serve` to its end: bind, load, serve, and on a signal stop without losing a request."""

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
import uvloop
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fansrec.errors import BadSetting
from fansrec.files import format_os_error
from fansrec.serving.continuing import CONTINUE
from fansrec.serving.http.hosts import Hosts
from fansrec.serving.http.inherited_socket import inherited_socket
from fansrec.serving.http.listening import drop_new_connections
from fansrec.serving.http.logs import setup_logs
from fansrec.serving.http.middleware import Gate
from fansrec.serving.http.problems import Problem
from fansrec.serving.http.protocol import protocol_class
from fansrec.serving.routes import build_app
from fansrec.serving.service import Service
from fansrec.serving.settings import Settings

BACKLOG = 2048
KEEP_ALIVE_SECONDS = 75
LAST_WORDS_SECONDS = 1.0
HANDSHAKE_SECONDS = 0.2  # for connections that are being made when no new ones are taken any more

Announce = Callable[[str], None]  # is given the address when the first answer could be given


def serve(settings: Settings, announce: Announce) -> None:
    """Serve until told to stop; a model that cannot be loaded is raised as the FansError it is."""
    setup_logs(settings.log_style, settings.log_level)
    where = (settings.host, settings.port)
    inherited = inherited_socket(os.environ, os.getpid(), *where)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, inherited or bind(*where), inherited is None, announce))


def bind(host: str, port: int) -> socket.socket:
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, proto)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError as error:
        raise BadSetting(
            f"{host}:{port} cannot be listened on ({format_os_error(error)}); choose another --host or --port"
        ) from error
    return listening


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


async def _serve(settings: Settings, listening: socket.socket, own: bool, announce: Announce) -> None:
    loop = asyncio.get_running_loop()
    service = Service(settings, loop)
    server = Server(_configuration(service))
    server.owns_socket = own
    server.last_words_s = min(settings.notice_s, LAST_WORDS_SECONDS)
    stop, notice_over = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _told_to_stop, stop, notice_over, server)
    serving = asyncio.ensure_future(server.serve(sockets=[listening]))
    starting = asyncio.ensure_future(_start(service, lambda: announce(_address(listening))))
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


async def _start(service: Service, announce: Callable[[], None]) -> None:
    await service.start()
    announce()


async def _give_notice(seconds: float, serving: "asyncio.Future[None]", over: asyncio.Event) -> None:
    """Answer on, but not ready any more, so that whoever shares out requests looks elsewhere first."""
    told_again = asyncio.ensure_future(over.wait())
    await asyncio.wait((serving, told_again), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    over.set()
    await told_again


def _told_to_stop(stop: asyncio.Event, notice_over: asyncio.Event, server: "Server") -> None:
    """Stop after the notice; told again, end the notice; told once more, wait for no request either."""
    if notice_over.is_set():
        server.force_exit = True
    elif stop.is_set():
        notice_over.set()
    stop.set()


class Server(uvicorn.Server):
    """Signals are ours: uvicorn would close connections before anyone could know."""

    owns_socket = True  # one that systemd opened stays open: whoever is not accepted here is by the next service
    last_words_s = 0.0  # for requests on their way when the last connection was accepted

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no connection any more, let those there are end by themselves, and only then close them."""
        if self.owns_socket:
            for listening in sockets or []:
                drop_new_connections(listening)
            await asyncio.sleep(min(self.last_words_s, HANDSHAKE_SECONDS))
        doors = [listening.dup() for listening in sockets or []]  # so that closing one resets nobody who knocked
        for server in self.servers:
            server.close()
        for door in doors:
            await self._let_in_who_knocked(door)
        end = time.monotonic() + self.last_words_s
        while self.server_state.connections and time.monotonic() < end:
            await asyncio.sleep(0.02)
        await super().shutdown(sockets)

    async def _let_in_who_knocked(self, door: socket.socket) -> None:
        """The system has connected them already; they would be cut off with their requests under way."""
        accepted = []
        with contextlib.suppress(OSError):  # nobody is left
            while True:
                accepted.append(door.accept()[0])
        door.close()
        for connection in accepted:
            connection.setblocking(False)
            await asyncio.get_running_loop().connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> asyncio.Protocol:
        config: Any = self.config
        made: asyncio.Protocol = config.http_protocol_class(
            config=config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _configuration(service: Service) -> uvicorn.Config:
    settings = service.settings
    return uvicorn.Config(
        _closing_when_draining(gate_around(service), service),
        http=protocol_class(settings, service.metrics.saw, CONTINUE, service.dispatcher.overloaded, service.unsent),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(settings.drain_s) or 1,
    )


def gate_around(service: Service) -> Gate:
    """The whole application, as any ASGI server can run it."""
    settings = service.settings
    return Gate(
        build_app(service),
        seen=service.metrics.saw,
        refuse=_refusal(service),
        keys=service.keys,
        hosts=_hosts(settings),
        allow_origins=settings.allow_origins,
    )


def _hosts(settings: Settings) -> Hosts | None:
    """The names to answer to; None for any, which only a service with keys and without `allowed_hosts` has."""
    if settings.keys is not None and not settings.allowed_hosts:
        return None
    if settings.loopback:
        return Hosts(settings.allowed_hosts)
    return Hosts((*settings.allowed_hosts, settings.host, socket.gethostname()), addresses=True)


def _refusal(service: Service) -> Callable[[Scope], Problem | None]:
    """Overload is told before anything of a request is read."""

    def refuse(scope: Scope) -> Problem | None:
        if scope["path"] != CONTINUE or scope["method"] != "POST":
            return None
        return service.dispatcher.overloaded()

    return refuse


def _closing_when_draining(app: ASGIApp, service: Service) -> ASGIApp:
    """Once the service is about to stop, every answer closes its connection: none is cut with a request on its way."""

    async def closing(scope: Scope, receive: Receive, send: Send) -> None:
        if not service.draining:
            return await app(scope, receive, send)

        async def send_and_close(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
            await send(message)

        await app(scope, receive, send_and_close)

    return closing
