"""The keys that a running service accepts: those of the key file, which is read again when it changes."""

import hmac
import logging
import time
from collections.abc import Callable
from pathlib import Path

from fansrec.errors import BadInput
from fansrec.serving.http.keys import Entry, digest_of, read_key_file
from fansrec.serving.http.problems import Problem

CHECK_S = 1.0  # between two checks of the file
GRACE_S = 30.0

log = logging.getLogger(__name__)


class KeyRing:
    """The keys of a file, read again when it has changed.

    A file that cannot be read leaves the keys unchanged: otherwise a file that is being copied or mounted would lock
    everyone out. After `grace_s` without a successful check every key is refused, since a key may have been removed
    meanwhile.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic, grace_s: float = GRACE_S) -> None:
        self.path = path
        self._clock = clock
        self._grace_s = grace_s
        self._checked_at = self._good_at = clock()
        self._stamp = _stamp(path)
        self._entries = read_key_file(path)
        self._failing = self._closed = False  # whether the last check failed; whether that lasts longer than `grace_s`

    @property
    def readable(self) -> bool:
        """Whether the file can be read, or could be until `grace_s` ago."""
        self._check_file()
        return not self._closed

    def entry_of(self, key: str) -> Entry | None:
        """Return the entry of the key, or None; all keys are compared, so that the time reveals nothing."""
        if not self.readable:
            detail = "The service cannot read its key file and refuses every key; its log says why."
            raise Problem(503, "keys-unreadable", detail, retry_after=5)
        digest, found = digest_of(key), None
        for entry in self._entries:
            if hmac.compare_digest(entry.digest, digest):
                found = entry
        return found

    def _check_file(self) -> None:
        now = self._clock()
        if now - self._checked_at < CHECK_S:
            return
        self._checked_at = now
        stamp = _stamp(self.path)
        if stamp == self._stamp and not self._failing:
            self._good_at = now
            return
        self._stamp = stamp
        try:
            self._entries = read_key_file(self.path)
        except BadInput as error:
            self._failed(now, error)
        else:
            log.info("the key file has changed: %d keys", len(self._entries))
            self._good_at, self._failing, self._closed = now, False, False

    def _failed(self, now: float, error: BadInput) -> None:
        if not self._failing:
            log.warning("the keys stay as they were, none is revoked, for at most %g s: %s", self._grace_s, error)
        self._failing = True
        if now - self._good_at > self._grace_s and not self._closed:
            log.error("every key is refused until the key file can be read again: %s", error)
            self._closed = True


def _stamp(path: Path) -> tuple[int, ...] | None:
    """Return values that change when the file does."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
