"""The keys that a running service accepts: those of the key file, which it follows."""

import hmac
import logging
import time
from collections.abc import Callable
from pathlib import Path

from fansrec.errors import BadInput
from fansrec.serving.http.keys import Holder, digest_of, read_key_file
from fansrec.serving.http.problems import Problem

LOOK_S = 1.0  # the file is looked at once in this time
GRACE_S = 30.0

log = logging.getLogger(__name__)


class KeyRing:
    """The keys of a file, read again when it has changed.

    A file that cannot be read leaves the keys as they were: one that is being copied or mounted would otherwise lock
    everyone out. After `grace_s` without a successful look nobody is let in, since a key that was removed meanwhile
    could not be noticed.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic, grace_s: float = GRACE_S) -> None:
        self.path = path
        self._clock = clock
        self._grace_s = grace_s
        self._looked_at = self._good_at = clock()
        self._stamp = _stamp(path)
        self._entries = read_key_file(path)
        self._trouble = self._shut = False  # whether the last look failed; whether that has been so for too long

    @property
    def readable(self) -> bool:
        """Whether the file can be read, or could be until a moment ago."""
        self._look_again()
        return not self._shut

    def holder_of(self, key: str) -> Holder | None:
        """Whose key this is; all are compared, so that time tells nothing."""
        if not self.readable:
            raise _unreadable()
        digest, found = digest_of(key), None
        for entry in self._entries:
            if hmac.compare_digest(entry.digest, digest):
                found = entry.holder
        return found

    def _look_again(self) -> None:
        now = self._clock()
        if now - self._looked_at < LOOK_S:
            return
        self._looked_at = now
        stamp = _stamp(self.path)
        if stamp == self._stamp and not self._trouble:
            self._good_at = now
            return
        self._stamp = stamp
        try:
            self._entries = read_key_file(self.path)
        except BadInput as error:
            self._failed(now, error)
        else:
            log.info("the key file has changed: %d keys", len(self._entries))
            self._good_at, self._trouble, self._shut = now, False, False

    def _failed(self, now: float, error: BadInput) -> None:
        if not self._trouble:
            log.warning("the keys stay as they were, none is revoked, for at most %g s: %s", self._grace_s, error)
        self._trouble = True
        if now - self._good_at > self._grace_s and not self._shut:
            log.error("every key is refused until the key file can be read again: %s", error)
            self._shut = True


def _unreadable() -> Problem:
    detail = "The service cannot read its key file and lets nobody in; its log says why."
    return Problem(503, "keys-unreadable", detail, retry_after=5)


def _stamp(path: Path) -> tuple[int, ...] | None:
    """What changes when the file does."""
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
