"""Where the service's processes come from: one that has imported everything, and forks the rest in milliseconds.

nursery -> keeper (has loaded the models of one generation) -> workers. Each connects to the front's socket, says who
it is, and leaves when the front is gone. A worker that dies is forked again from models that are in memory, so
neither the time to load them nor the state of their folder matters; a keeper that fails to load harms nobody.
"""

import contextlib
import gc
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import NoReturn

from fansrec.errors import FansError
from fansrec.files import format_os_error
from fansrec.serving.http.logs import setup_logs
from fansrec.serving.processes.answering import Job, Reply, Served
from fansrec.serving.processes.batches import answer_jobs
from fansrec.serving.processes.channel import Message, packed, receive
from fansrec.serving.processes.loading import described, load_models

MOTHER, KEEPER, WORKER = "nursery", "keeper", "worker"
BREATH_SECONDS = 0.25
NICENESS = 5  # the front, which has little to do, goes first: it is the one that refuses when there is too much


def main() -> None:
    import torch

    torch.set_num_threads(1)  # threads would not survive a fork; the workers are the threads
    setup_logs(sys.argv[2], sys.argv[3], background=False)
    for ignored in (signal.SIGINT, signal.SIGTERM):  # a terminal tells everyone; only the front decides
        signal.signal(ignored, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead are buried by the system
    path = sys.argv[1]
    try:
        front = _connect(path, {"kind": MOTHER})
    except OSError:
        return  # the front has gone before we came
    _fork_on_request(front, lambda order: _keep(path, order))
    shutil.rmtree(os.path.dirname(path), ignore_errors=True)  # a front that was killed could not


def _connect(path: str, hello: Message) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    connection.sendall(packed(hello | {"pid": os.getpid()}))
    return connection


def _fork_on_request(front: socket.socket, child: Callable[[Message], object]) -> None:
    """One child for each message of the front, until it closes the connection."""
    gc.collect()
    gc.freeze()  # what the collector does not touch stays shared with the children
    while (frame := receive(front)) is not None:
        if os.fork() == 0:
            front.close()
            _live(child, frame[0])


def _live(child: Callable[[Message], object], order: Message) -> NoReturn:
    """A child ends here, whatever happens: it must never go on in its parent's loop."""
    code = 1
    try:
        child(order)
        code = 0
    except BrokenPipeError:
        code = 0  # the front has gone
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def _keep(path: str, order: Message) -> None:
    """A keeper's life: load, say what was loaded, fork workers."""
    front = _connect(path, {"kind": KEEPER, "generation": order["generation"]})
    try:
        models = load_models(order["models"], order["device"], order["backend"])
    except (FansError, OSError) as error:
        front.sendall(packed({"refused": format_os_error(error) if isinstance(error, OSError) else str(error)}))
        return
    front.sendall(packed({"models": [described(served) for served in models.values()]}))
    _fork_on_request(front, lambda request: _work(path, order["generation"], models))


def _work(path: str, generation: int, models: dict[str, Served]) -> None:
    with contextlib.suppress(OSError):  # not everyone may; it is only better
        os.nice(NICENESS)
    hello: Message = {"kind": WORKER, "generation": generation}
    try:
        for served in models.values():
            served.settle()
    except Exception as error:
        _connect(path, hello | {"failed": f"a worker cannot use them ({error})"})
        raise
    front = Voice(_connect(path, hello))
    while (frame := receive(front.connection)) is not None:
        message, content = frame
        if message["kind"] == "ping":
            front.say({"kind": "pong"})
            continue
        for replies in answer_jobs(models, _jobs(message, content), message["budget"], front.breathe):
            front.say(*_told(replies))


class Voice:
    """What a worker says to the front: answers, and in long work now and then that it goes on."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._spoke = 0.0

    def say(self, message: Message, content: bytes = b"") -> None:
        self._spoke = time.monotonic()
        self.connection.sendall(packed(message, content))

    def breathe(self) -> None:
        if time.monotonic() - self._spoke > BREATH_SECONDS:
            self.say({"kind": "pong"})


def _jobs(message: Message, content: bytes) -> list[Job]:
    jobs, start = [], 0
    for id_, model, size, since, deadline in message["jobs"]:
        jobs.append(Job(id_, model, content[start : start + size], since, deadline))
        start += size
    return jobs


def _told(replies: list[Reply]) -> tuple[Message, bytes]:
    heads = [[r.id, len(r.content), r.lists, r.items, r.error, r.detail] for r in replies]
    return {"kind": "replies", "replies": heads}, b"".join(r.content for r in replies)


if __name__ == "__main__":
    main()
