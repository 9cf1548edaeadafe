"""The supervisor process: it has imported everything and forks the other processes in milliseconds.

supervisor -> model host (has loaded the models of one deployment) -> workers. Each process connects to the front's
socket, introduces itself, and exits when the front closes the connection. A worker that dies is forked again from
models that are in memory, so neither the time to load them nor the state of their folder matters; a model host that
fails to load its models harms no other process.
"""

import contextlib
import gc
import os
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import NoReturn

from fansrec.engine.threads import use_one_thread
from fansrec.errors import FansError
from fansrec.files import format_os_error
from fansrec.serving.http.logs import setup_logs
from fansrec.serving.processes.batching import answer_jobs
from fansrec.serving.processes.channel import (
    APPLY,
    HEARTBEAT,
    MODEL_HOST,
    SUPERVISOR,
    WORKER,
    Message,
    pack,
    receive,
    receive_frame,
)
from fansrec.serving.processes.jobs import pack_replies, unpack_jobs
from fansrec.serving.processes.live_models import LiveModels
from fansrec.serving.processes.loading import warm_up

HEARTBEAT_SECONDS = 0.25
NICENESS = 5  # of workers: the front has little to do, and must have time to refuse requests at overload


def main() -> None:
    use_one_thread()  # more would not survive a fork; the workers run in parallel instead
    setup_logs(sys.argv[2], sys.argv[3], background=False)
    for ignored in (signal.SIGINT, signal.SIGTERM):  # a terminal signals the whole group; only the front decides
        signal.signal(ignored, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system reaps children
    path = sys.argv[1]
    try:
        front = _connect(path, {"kind": SUPERVISOR})
    except OSError:
        return  # the front has exited already
    _fork_on_request(front, lambda order: _run_model_host(path, order))
    shutil.rmtree(os.path.dirname(path), ignore_errors=True)  # a front that was killed could not


def _connect(path: str, introduction: Message) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    connection.sendall(pack(introduction | {"pid": os.getpid()}))
    return connection


def _fork_on_request(
    front: socket.socket, run_child: Callable[[Message], object], handle: Callable[[Message], bool] = lambda _: False
) -> None:
    """Fork a child for each message of the front that `handle` does not handle, until it closes the connection."""
    gc.collect()
    gc.freeze()  # memory that the collector does not touch stays shared with the children
    while (message := receive(front)) is not None:
        if not handle(message) and os.fork() == 0:
            front.close()
            _run_and_exit(run_child, message)


def _run_and_exit(run_child: Callable[[Message], object], order: Message) -> NoReturn:
    """Run a child and exit in any case: it must never return into its parent's loop."""
    code = 1
    try:
        run_child(order)
        code = 0
    except BrokenPipeError:
        code = 0  # the front has exited
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def _run_model_host(path: str, order: Message) -> None:
    """Load models, report what was loaded, apply writes to them, fork workers."""
    front = _connect(path, {"kind": MODEL_HOST, "deployment": order["deployment"]})
    try:
        live = LiveModels(order)
    except (FansError, OSError) as error:
        front.sendall(pack({"refused": _reason(error)}))
        return
    front.sendall(pack(live.describe()))

    def apply(message: Message) -> bool:
        if message["kind"] != APPLY:
            return False
        try:
            _run_nicely(lambda: live.apply(message["last"]), lambda: front.sendall(pack({"kind": HEARTBEAT})))
            front.sendall(pack(live.describe()))
        except (FansError, OSError) as error:
            front.sendall(pack({"not_applied": _reason(error)}))
            raise  # some of the models may have changed, so that they are loaded again
        return True

    _fork_on_request(front, lambda request: _run_worker(path, order["deployment"], live), apply)


def _run_nicely(work: Callable[[], None], heartbeat: Callable[[], None]) -> None:
    """Run work in a thread with the priority of workers, which this process could not return from by itself.

    `heartbeat` is called regularly meanwhile.
    """

    def run() -> None:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), os.nice(0) + NICENESS)
        work()

    with ThreadPoolExecutor(1) as thread:  # it has ended when workers are forked
        running = thread.submit(run)
        while not wait([running], HEARTBEAT_SECONDS).done:
            heartbeat()
        running.result()


def _reason(error: FansError | OSError) -> str:
    return format_os_error(error) if isinstance(error, OSError) else error.on_command_line


def _run_worker(path: str, deployment: int, live: LiveModels) -> None:
    with contextlib.suppress(OSError):  # not every user may
        os.nice(NICENESS)
    introduction: Message = {"kind": WORKER, "deployment": deployment, "version": live.version}
    models = live.loaded
    try:
        for model in models.values():
            model.move_to_device()
            if live.version > 1:  # others are forked while requests arrive
                warm_up(model)
    except Exception as error:
        _connect(path, introduction | {"failed": f"a worker cannot use them ({error})"})
        raise
    front = FrontConnection(_connect(path, introduction))
    while (frame := receive_frame(front.connection)) is not None:
        message, content = frame
        if message["kind"] == "ping":
            front.send({"kind": "pong"})
            continue
        jobs = unpack_jobs(message["jobs"], content)
        for replies in answer_jobs(models, jobs, message["budget"], front.heartbeat):
            rows, contents = pack_replies(replies)
            front.send({"kind": "replies", "replies": rows}, contents)


class FrontConnection:
    """A worker's connection to the front: replies, and heartbeats during long work."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._sent_at = 0.0

    def send(self, message: Message, content: bytes = b"") -> None:
        self._sent_at = time.monotonic()
        self.connection.sendall(pack(message, content))

    def heartbeat(self) -> None:
        if time.monotonic() - self._sent_at > HEARTBEAT_SECONDS:
            self.send({"kind": "pong"})


if __name__ == "__main__":
    main()
