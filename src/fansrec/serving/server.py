"""The HTTP server: uvicorn's, on a socket that we bind, with a shutdown that loses no request."""

import asyncio
import contextlib
import socket
import time
from collections.abc import Iterator
from typing import Any

import uvicorn

from fansrec.serving.app import build_app
from fansrec.serving.direct_continue import DirectContinue
from fansrec.serving.http.protocol import protocol_class
from fansrec.serving.http.sockets import drop_new_connections
from fansrec.serving.service import Service

# Parts of uvicorn that the service does without, or does by itself.
DISABLED: dict[str, Any] = {"ws": "none", "lifespan": "off", "log_config": None}
DISABLED |= dict.fromkeys(("access_log", "server_header", "proxy_headers"), False)
BACKLOG = 2048
KEEP_ALIVE_SECONDS = 75
LATE_REQUEST_SECONDS = 1.0
HANDSHAKE_SECONDS = 0.2  # for connections that are being made when new ones are no longer accepted


class Server(uvicorn.Server):
    """uvicorn's server without its signal handlers, which would close connections before clients are warned."""

    def __init__(self, service: Service, owns_socket: bool = True) -> None:
        """Serve on a socket of its own, or on one that systemd opened and keeps open for the next service."""
        settings, app = service.settings, build_app(service)
        app.draining = lambda: service.draining  # so that no later request on a connection is lost
        config = uvicorn.Config(
            app,
            http=protocol_class(
                settings,
                service.metrics.observe_request,
                service.dispatcher.load.refusal,
                service.unread,
                DirectContinue(service, app),
                app.pace,
            ),
            **DISABLED,
            backlog=BACKLOG,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=int(settings.drain_s) or 1,
        )
        super().__init__(config)
        self._owns_socket = owns_socket
        self._late_request_s = min(settings.notice_s, LATE_REQUEST_SECONDS)  # for requests that are on their way

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections, let the others end by themselves, and only then close them."""
        if self._owns_socket:
            for listening in sockets or []:
                drop_new_connections(listening)
            await asyncio.sleep(min(self._late_request_s, HANDSHAKE_SECONDS))
        copies = [listening.dup() for listening in sockets or []]  # so that closing the original resets no connection
        for server in self.servers:
            server.close()
        for listening in copies:
            await self._accept_pending(listening)
        end = time.monotonic() + self._late_request_s
        while self.server_state.connections and time.monotonic() < end:
            await asyncio.sleep(0.02)
        await super().shutdown(sockets)

    async def _accept_pending(self, listening: socket.socket) -> None:
        """Accept connections that the system has made already; their requests would be lost otherwise."""
        accepted = []
        with contextlib.suppress(OSError):  # none is left
            while True:
                accepted.append(listening.accept()[0])
        listening.close()
        for connection in accepted:
            connection.setblocking(False)
            await asyncio.get_running_loop().connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> asyncio.Protocol:
        config: Any = self.config
        protocol: asyncio.Protocol = config.http_protocol_class(
            config=config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
