"""What goes wrong on a cluster, in one line each."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from ray import exceptions
from ray.data.exceptions import SystemException

from fansrec.cluster.storage import is_storage_error
from fansrec.errors import FansError, Unfinished
from fansrec.files import told

AGAIN = "what is done is kept, run the same command again"
ADVICE = "\nFailed to apply UDF"  # where Ray Data's own words begin, behind those of an error in a worker
LOST = (exceptions.WorkerCrashedError, exceptions.RayActorError, exceptions.NodeDiedError)


@contextmanager
def in_plain_words() -> Iterator[None]:
    """Around work on a cluster: whatever it raises comes as a FansError of one line."""
    try:
        yield
    except FansError as error:
        raise cause_of(error) from None  # one that a worker raised comes as a stranger of the same kind
    except (exceptions.RayError, exceptions.RayTaskError) as error:
        raise refusal(error) from error


@contextmanager
def said_by_worker() -> Iterator[None]:
    """Around a worker's own reading and writing, as the name of a file would get lost on the way."""
    try:
        yield
    except Exception as error:
        if not is_storage_error(error):
            raise
        what = told(error) if isinstance(error, OSError) else " ".join(str(error).split())
        raise Unfinished(f"{what} (on {socket.gethostname()}); {AGAIN}") from error


def refusal(error: BaseException) -> FansError:
    """The FansError behind whatever Ray raised; a bug stays what it is."""
    cause = cause_of(error)
    if isinstance(cause, FansError):
        return cause
    if isinstance(cause, exceptions.OutOfMemoryError) or "memory pressure" in str(cause):
        return Unfinished(f"a worker ran out of memory; give it more, or use fewer workers a machine; {AGAIN}")
    if isinstance(cause, LOST):
        return Unfinished(
            f"a worker died again and again, killed or crashed (Ray's logs on its machine say more); {AGAIN}"
        )
    if isinstance(cause, exceptions.ObjectLostError | exceptions.RaySystemError):
        return Unfinished(f"the cluster lost a part of the work ({_first_line(cause)}); {AGAIN}")
    if isinstance(cause, OSError):
        return Unfinished(f"{cause}; {AGAIN}")
    raise cause


def cause_of(error: BaseException) -> BaseException:
    """What a worker raised, out of the wrappings of its way here."""
    seen: set[int] = set()
    while id(error) not in seen:
        seen.add(id(error))
        # A FansError says all itself, whatever it was raised from; only Ray's own wrapping of it is taken off.
        inner = getattr(error, "cause", None) or (None if isinstance(error, FansError) else error.__cause__)
        if isinstance(inner, BaseException) and not isinstance(inner, SystemException):  # that one holds nothing
            error = inner
    if isinstance(error, FansError):
        error.args = (str(error).partition(ADVICE)[0],)
    return error


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
