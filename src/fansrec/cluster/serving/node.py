"""One machine of the cluster: runs its service, and starts it again when it ends or no longer answers."""

import logging
import threading
import time

from fansrec.cluster.serving.service import LOAD_SECONDS, ServiceProcess
from fansrec.cluster.serving.service_process import RELOAD, STATUS
from fansrec.errors import FansError
from fansrec.serving.processes.channel import Message

log = logging.getLogger("fansrec.serving")

CHECK_SECONDS = 1.0
PAUSES = (0.0, 0.1, 1.0, 5.0, 30.0)  # before a service that ends repeatedly is started again
STABLE_SECONDS = 60.0  # after which the next end counts as the first
# Another service is tried beside the one that serves, where only this machine can reach it.
TRIAL = {"host": "127.0.0.1", "port": 0, "workers": 1}


class Node:
    """The actor of a machine. Without settings it runs nothing."""

    def __init__(self) -> None:
        self._settings: Message | None = None
        self._service: ServiceProcess | None = None
        self._report: Message = {}
        self._restarts, self._failures, self._started_at = 0, 0, 0.0
        self._changing = threading.Lock()
        threading.Thread(target=self._keep, daemon=True).start()

    def status(self) -> Message:
        """Return what the service reported last, and how often it was started again."""
        report = {"state": "starting", "pid": 0, "models": []} | self._report | {"restarts": self._restarts}
        ended = self._settings is not None and self._service is not None and not self._service.alive
        return report | {"state": "restarting"} if ended and report["state"] == "ready" else report

    def run(self, settings: Message) -> None:
        """Run a service with these settings, unless one was deployed; if it does not start, try again and again."""
        with self._changing:
            self._settings = self._settings or settings

    def deploy(self, settings: Message) -> None:
        """Replace the service by one with these settings; raise the FansError for which it does not start.

        The new one is tried beside the old one first, so that models or keys that are refused interrupt nothing.
        """
        with self._changing:
            if self._service is not None and self._service.alive:
                _try(settings)
                self._service.stop()
            old, self._settings = self._settings, settings
            try:
                self._start()
            except FansError:
                self._settings = old
                raise

    def reload(self) -> list[str]:
        """Have the service read its models again; return the names of those that changed."""
        with self._changing:
            if self._service is None or not self._service.alive:
                return []  # it is being started, with the models that are there now
            self._report = self._service.ask(RELOAD, LOAD_SECONDS)
            changed: list[str] = self._report.pop("changed")
            return changed

    def stop(self) -> None:
        """Stop the service after it has answered what it has accepted."""
        with self._changing:
            self._settings, self._report = None, {"state": "stopped"}
            if self._service is not None:
                self._service.stop()

    def _keep(self) -> None:
        while True:
            self._wait()
            with self._changing:
                if self._settings is None:
                    continue
                try:
                    if self._service is not None and self._service.alive:
                        self._report = self._service.ask(STATUS, self._settings["hang_s"])
                    else:
                        self._restarts += self._service is not None
                        self._start()
                except (FansError, OSError) as error:
                    self._report = {"state": " ".join(str(error).split())}
                    log.error("the service does not run: %s", error)

    def _wait(self) -> None:
        """Wait until it is time to check the service, or to start it again."""
        service = self._service
        if service is None:
            time.sleep(CHECK_SECONDS)
            return
        service.wait(CHECK_SECONDS)
        if not service.alive:
            stable = time.monotonic() - self._started_at > STABLE_SECONDS
            time.sleep(0.0 if stable else PAUSES[min(self._failures, len(PAUSES) - 1)])
            self._failures = 0 if stable else self._failures + 1

    def _start(self) -> None:
        assert self._settings is not None
        self._report, self._started_at = {}, time.monotonic()
        self._service = ServiceProcess(self._settings)
        try:
            self._report = self._service.wait_until_ready()
        except FansError:
            self._service.kill()
            raise


def _try(settings: Message) -> None:
    trial = ServiceProcess(settings | TRIAL)
    try:
        trial.wait_until_ready()
    finally:
        trial.kill()
