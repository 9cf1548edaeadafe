"""The service as its node sees it: a process that is started, asked and stopped."""

import os
import socket
import subprocess
import sys
from contextlib import suppress

from fansrec import errors
from fansrec.cluster.serving import service_process
from fansrec.errors import FansError, Unfinished
from fansrec.serving.processes.channel import Message, pack, receive

LOAD_SECONDS = 600.0  # within which models must be read
STOP_SECONDS = 10.0  # beyond the time that the settings give to accepted requests


class ServiceProcess:
    """A process with a service, which leads a session of its own: a signal to the group of Ray does not reach it."""

    def __init__(self, settings: Message) -> None:
        self._stop_seconds = settings["notice_s"] + settings["drain_s"] + STOP_SECONDS
        self._connection, there = socket.socketpair()
        with there:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", service_process.__name__, str(there.fileno())],
                env={name: value for name, value in os.environ.items() if not name.startswith("RAY_")},  # no token
                stdin=subprocess.DEVNULL,
                pass_fds=[there.fileno()],
                start_new_session=True,
            )
        self._send(settings)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def wait(self, seconds: float) -> None:
        """Wait until the process ends, for at most `seconds`."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def wait_until_ready(self) -> Message:
        """Return the first report of the service; raise the FansError for which it did not start."""
        return self._receive(LOAD_SECONDS)

    def ask(self, kind: str, seconds: float) -> Message:
        """Return the report that answers an order; raise the FansError that refuses it.

        A service that does not answer within `seconds` is killed.
        """
        self._send({"kind": kind})
        return self._receive(seconds)

    def stop(self) -> None:
        """Stop the service after it has answered what it has accepted."""
        if self.alive:
            self._process.terminate()
            self.wait(self._stop_seconds)
        self.kill()

    def kill(self) -> None:
        self._process.kill()  # its workers notice that and exit
        self._process.wait()
        self._connection.close()

    def _send(self, message: Message) -> None:
        with suppress(OSError):  # the process has ended: so says the answer that is missing
            self._connection.sendall(pack(message))

    def _receive(self, seconds: float) -> Message:
        try:
            self._connection.settimeout(seconds)
            message = receive(self._connection)
        except OSError:
            message = None
        if message is None:
            self.kill()
            raise Unfinished("the service ended or did not answer; its log is among those of Ray on its machine")
        if "refused" in message:
            raise refusal(message)
        return message


def refusal(message: Message) -> FansError:
    """Return the error that a service reported."""
    kind = getattr(errors, message["refused"], Unfinished)
    error: FansError = kind(message["detail"])
    return error
