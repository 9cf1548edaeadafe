"""What goes wrong on a cluster, in one line each."""

from collections.abc import Iterator
from contextlib import contextmanager

from ray import exceptions

from fansrec.errors import FansError, Unfinished

AGAIN = "what is done is kept, run the same command again"


@contextmanager
def in_plain_words() -> Iterator[None]:
    try:
        yield
    except FansError as error:
        raise cause_of(error) from None  # one that a worker raised comes as a stranger of the same kind
    except (exceptions.RayError, exceptions.RayTaskError) as error:
        raise refusal(error) from error


def refusal(error: BaseException) -> FansError:
    """The FansError behind whatever Ray raised; a bug stays what it is."""
    cause = cause_of(error)
    if isinstance(cause, FansError):
        return cause
    if isinstance(cause, exceptions.OutOfMemoryError):
        return Unfinished(f"a worker ran out of memory; give it more, or use fewer workers a machine; {AGAIN}")
    if isinstance(cause, exceptions.WorkerCrashedError | exceptions.ActorDiedError | exceptions.NodeDiedError):
        return Unfinished(f"a worker died again and again ({_first_line(cause)}); {AGAIN}")
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
        inner = getattr(error, "cause", None) or error.__cause__
        if isinstance(inner, BaseException):
            error = inner
    return error


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
