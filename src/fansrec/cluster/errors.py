"""Translation of the errors of Ray and of storage libraries into one-line FansErrors."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from ray import exceptions
from ray.data.exceptions import SystemException

from fansrec.cluster.storage import is_storage_error
from fansrec.errors import FansError, Unfinished
from fansrec.files import format_os_error

RERUN = "finished work is kept, run the same command again"
RAY_DATA_ADVICE = "\nFailed to apply UDF"  # Ray Data appends its own text to the message of an error in a worker
LOST_WORKER = (exceptions.WorkerCrashedError, exceptions.RayActorError, exceptions.NodeDiedError)


@contextmanager
def ray_errors() -> Iterator[None]:
    """Raise errors of work on a cluster as FansErrors of one line."""
    try:
        yield
    except FansError as error:
        raise root_cause(error) from None  # Ray wraps an error of a worker in a subclass of its class
    except (exceptions.RayError, exceptions.RayTaskError) as error:
        raise to_fans_error(error) from error


@contextmanager
def worker_storage_errors() -> Iterator[None]:
    """Raise a worker's storage errors as Unfinished, since Ray would lose the name of the file."""
    try:
        yield
    except Exception as error:
        if not is_storage_error(error):
            raise
        problem = format_os_error(error) if isinstance(error, OSError) else " ".join(str(error).split())
        raise Unfinished(f"{problem} (on {socket.gethostname()}); {RERUN}") from error


def to_fans_error(error: BaseException) -> FansError:
    """Return the FansError for an error of Ray; raise the root cause if it is a bug."""
    cause = root_cause(error)
    if isinstance(cause, FansError):
        return cause
    if isinstance(cause, exceptions.OutOfMemoryError) or "memory pressure" in str(cause):
        return Unfinished(f"a worker ran out of memory; give it more, or use fewer workers per machine; {RERUN}")
    if isinstance(cause, LOST_WORKER):
        return Unfinished(f"a worker was killed or crashed repeatedly (see Ray's logs on its machine); {RERUN}")
    if isinstance(cause, exceptions.ObjectLostError | exceptions.RaySystemError):
        return Unfinished(f"the cluster lost a part of the work ({_first_line(cause)}); {RERUN}")
    if isinstance(cause, OSError):
        return Unfinished(f"{cause}; {RERUN}")
    raise cause


def root_cause(error: BaseException) -> BaseException:
    """Return the exception that a worker raised, without Ray's wrappers."""
    seen: set[int] = set()
    while id(error) not in seen:
        seen.add(id(error))
        # The message of a FansError is complete, whatever it was raised from; only Ray's wrapper of it is removed.
        inner = getattr(error, "cause", None) or (None if isinstance(error, FansError) else error.__cause__)
        if isinstance(inner, BaseException) and not isinstance(inner, SystemException):  # that one has no message
            error = inner
    if isinstance(error, FansError):
        error.args = (error.on_command_line.partition(RAY_DATA_ADVICE)[0],)
    return error


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
