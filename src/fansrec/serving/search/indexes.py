"""The search indexes of a service: opened if they exist, otherwise built by processes of their own."""

import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from fansrec.errors import BadArtifact
from fansrec.files import format_os_error
from fansrec.serving.search.index import index_path, is_complete
from fansrec.serving.search.item_index import ItemIndex

log = logging.getLogger("fansrec.serving")

MAX_ATTEMPTS = 3
RETRY_SECONDS = 2.0  # after the first failure, twice as long after the next
MAX_LOGGED = 500  # characters of a builder's error output that are logged
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass
class Builder:
    """The process that builds an index, and its attempts so far."""

    run: Path
    process: subprocess.Popen[bytes] | None = None
    errors: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    attempts: int = 0
    not_before: float = 0.0
    failure: str | None = None  # of the last attempt

    def start(self, folder: Path) -> None:
        self.attempts += 1
        self.errors.truncate(0)
        self.errors.seek(0)
        self.process = subprocess.Popen(
            command(self.run, folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self.errors,
            env=os.environ | ONE_THREAD,
            start_new_session=True,  # Ctrl-C in a terminal must not end it; `close` does
        )

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.errors.close()

    def fail(self, reason: str) -> None:
        self.failure, self.process = reason, None
        self.not_before = time.monotonic() + RETRY_SECONDS * 2 ** (self.attempts - 1)
        message = "the search index of %s could not be built (attempt %d of %d): %s"
        log.error(message, self.run, self.attempts, MAX_ATTEMPTS, reason)

    def error_output(self) -> str:
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace").strip()[-MAX_LOGGED:]


def command(run: Path, folder: Path) -> Sequence[str]:
    return [sys.executable, "-P", "-m", "fansrec.serving.search.index", str(run), str(folder)]


class Indexes:
    """Used by one thread; nothing here waits for a builder, so the thread may run an event loop."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._runs: dict[str, Path] = {}
        self._open: dict[str, ItemIndex] = {}
        self._builders: dict[str, Builder] = {}

    def update(self, runs: Mapping[str, Path]) -> None:
        """Have an index for the vocabulary of each run, by its `key_of`; close the others, whose files stay."""
        for key in self._runs.keys() - runs.keys():
            if index := self._open.pop(key, None):
                index.close()
            if builder := self._builders.pop(key, None):
                builder.stop()
        self._runs = dict(runs)
        self.is_building()

    def is_building(self) -> bool:
        """Return whether there will be more indexes; repeated calls follow the progress."""
        missing = [key for key in self._runs if self.get(key) is None]
        return any(self.failure(key) is None for key in missing)

    def get(self, key: str) -> ItemIndex | None:
        """Return the index, or None while it is being built."""
        index = self._open.get(key)
        if index is not None and index.damaged:
            del self._open[key]
            index.close()
            _remove(index.path)
        if key in self._runs and key not in self._open and not self._try_open(key):
            self._build(key)
        return self._open.get(key)

    def failure(self, key: str) -> str | None:
        """Return why there is no index, once all attempts to build it have failed."""
        builder = self._builders.get(key)
        given_up = builder is not None and builder.process is None and builder.attempts >= MAX_ATTEMPTS
        return builder.failure if builder and given_up else None

    def close(self) -> None:
        self.update({})

    def _try_open(self, key: str) -> bool:
        path = index_path(self.folder, key)
        if not is_complete(path):
            return False
        try:
            self._open[key] = ItemIndex(path)
        except BadArtifact as error:
            log.warning("%s", error)
            _remove(path)
            return False
        if builder := self._builders.pop(key, None):
            builder.stop()
        with suppress(OSError):  # a folder without write permission
            os.utime(path)  # marks it as used
        return True

    def _build(self, key: str) -> None:
        builder = self._builders[key] = self._builders.get(key) or Builder(self._runs[key])
        if builder.process is not None:
            if (code := builder.process.poll()) is None:
                return
            changed = f"{builder.run} no longer has the items it was started with"
            builder.fail(changed if code == 0 else builder.error_output() or f"its process exited with {code}")
        if builder.attempts < MAX_ATTEMPTS and time.monotonic() >= builder.not_before:
            builder.start(self.folder)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.error("a damaged search index cannot be removed: %s", format_os_error(error))
