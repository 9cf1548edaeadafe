"""The process of one service: `fans serve`, with its settings and orders from the node that started it.

It stops like `fans serve` on SIGTERM, and also when the node closes the connection, which means that it has died.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Coroutine

from fansrec.errors import FansError, Unfinished
from fansrec.files import format_os_error
from fansrec.serving.processes.channel import Channel, Message, pack, receive
from fansrec.serving.run import serve
from fansrec.serving.service import Service
from fansrec.serving.settings import Settings

log = logging.getLogger("fansrec.serving")

STATUS, RELOAD = "status", "reload"  # kinds of orders


def main() -> None:
    connection = socket.socket(fileno=int(sys.argv[1]))
    connection.set_inheritable(False)
    with contextlib.suppress(OSError):  # Ray gives its processes a low priority, which not every user may raise
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    if (settings := receive(connection)) is None:
        return
    try:
        serve(Settings.model_validate(settings), lambda _, service: _follow_orders(connection, service))
    except (FansError, OSError) as error:
        with contextlib.suppress(OSError):  # the node has died
            connection.send(pack(_refusal(error)))
        sys.exit(2)


def _follow_orders(connection: socket.socket, service: Service) -> None:
    """Report that requests are answered, and do from now on what the node orders."""
    tasks = set[asyncio.Future[object]]()  # the event loop keeps none

    def start(work: Coroutine[object, object, object]) -> None:
        task = asyncio.ensure_future(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def opened(channel: Channel) -> None:
        channel.on_message = lambda order, _: start(_follow(order, service, channel))
        channel.on_close = lambda: os.kill(os.getpid(), signal.SIGTERM)
        channel.send(_report(service))

    loop = asyncio.get_running_loop()
    start(loop.create_unix_connection(lambda: Channel(opened), sock=connection))


async def _follow(order: Message, service: Service, channel: Channel) -> None:
    try:
        changed = {"changed": await service.deployments.reload()} if order["kind"] == RELOAD else {}
        channel.send(_report(service) | changed)
    except (FansError, OSError) as error:
        channel.send(_refusal(error))
    except Exception as error:
        log.exception("an order of the node failed")
        channel.send({"refused": Unfinished.__name__, "detail": f"the service failed ({type(error).__name__})"})


def _report(service: Service) -> Message:
    models = [{"name": model["name"], "hash": model["hash"]} for model in service.deployments.models or ()]
    return {"state": "ready" if service.ready else service.not_ready_reason, "pid": os.getpid(), "models": models}


def _refusal(error: FansError | OSError) -> Message:
    if isinstance(error, OSError):
        return {"refused": Unfinished.__name__, "detail": format_os_error(error)}
    return {"refused": type(error).__name__, "detail": error.on_command_line}


if __name__ == "__main__":
    main()
