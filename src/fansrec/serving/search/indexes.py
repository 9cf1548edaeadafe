"""The indexes a service searches: opened when they are there, made by processes of their own when they are not."""

import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from fansrec.errors import BadArtifact
from fansrec.files import format_os_error
from fansrec.serving.search.index import index_path, whole
from fansrec.serving.search.items import ItemIndex

log = logging.getLogger("fansrec.serving")

MOST_TRIES = 3
WAIT_SECONDS = 2.0  # after the first failure, twice as long after the next
LAST_WORDS = 500  # characters of what a builder said, for the log
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass
class Builder:
    """What is known of an index that is not there yet."""

    run: Path
    process: subprocess.Popen[bytes] | None = None
    said: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    tries: int = 0
    not_before: float = 0.0
    trouble: str | None = None  # what was wrong the last time

    def begin(self, folder: Path) -> None:
        self.tries += 1
        self.said.truncate(0)
        self.said.seek(0)
        self.process = subprocess.Popen(
            command(self.run, folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self.said,
            env=os.environ | ONE_THREAD,
            start_new_session=True,  # what a terminal's Ctrl-C ends is up to `close`
        )

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.said.close()

    def failed(self, why: str) -> None:
        self.trouble, self.process = why, None
        self.not_before = time.monotonic() + WAIT_SECONDS * 2 ** (self.tries - 1)
        log.error("the search index of %s could not be made (try %d of %d): %s", self.run, self.tries, MOST_TRIES, why)

    def last_words(self) -> str:
        self.said.seek(0)
        return self.said.read().decode(errors="replace").strip()[-LAST_WORDS:]


def command(run: Path, folder: Path) -> Sequence[str]:
    return [sys.executable, "-P", "-m", "fansrec.serving.search.index", str(run), str(folder)]


class Indexes:
    """Used by one thread; nothing here waits for a builder, so that the thread may be an event loop's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._runs: dict[str, Path] = {}
        self._open: dict[str, ItemIndex] = {}
        self._builders: dict[str, Builder] = {}

    def start(self, key: str, run: Path) -> None:
        """See to it that there will be an index of a run's vocabulary, whose `key_of` is this."""
        if key not in self._runs:
            self._runs[key] = run
            self.get(key)

    def get(self, key: str) -> ItemIndex | None:
        """The index, or None while it is being made; called again and again it finds out how the making goes."""
        index = self._open.get(key)
        if index is not None and index.damaged:
            del self._open[key]
            index.close()
            _remove(index.path)
        if key in self._runs and key not in self._open and not self._opened(key):
            self._make(key)
        return self._open.get(key)

    def trouble(self, key: str) -> str | None:
        """Why there is no index, once all tries to make it have failed."""
        builder = self._builders.get(key)
        given_up = builder is not None and builder.process is None and builder.tries >= MOST_TRIES
        return builder.trouble if builder and given_up else None

    def forget(self, key: str) -> None:
        """Nobody will search it any more; the file stays."""
        self._runs.pop(key, None)
        if index := self._open.pop(key, None):
            index.close()
        if builder := self._builders.pop(key, None):
            builder.end()

    def close(self) -> None:
        for key in [*self._runs]:
            self.forget(key)

    def _opened(self, key: str) -> bool:
        path = index_path(self.folder, key)
        if not whole(path):
            return False
        try:
            self._open[key] = ItemIndex(path)
        except BadArtifact as error:
            log.warning("%s", error)
            _remove(path)
            return False
        if builder := self._builders.pop(key, None):
            builder.end()
        with suppress(OSError):  # a folder that may only be read
            os.utime(path)  # used: to be kept before others
        return True

    def _make(self, key: str) -> None:
        builder = self._builders[key] = self._builders.get(key) or Builder(self._runs[key])
        if builder.process is not None:
            if (code := builder.process.poll()) is None:
                return
            changed = f"{builder.run} no longer holds the items it was started with"
            builder.failed(changed if code == 0 else builder.last_words() or f"its process ended with {code}")
        if builder.tries < MOST_TRIES and time.monotonic() >= builder.not_before:
            builder.begin(self.folder)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.error("a damaged search index stands in the way: %s", format_os_error(error))
