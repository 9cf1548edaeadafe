"""Requests and replies as the front and its workers exchange them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic_core import from_json

CONTINUE, SIMILAR = "continue", "similar"  # kinds of jobs
LATE, BUG = "late", "bug"  # errors of a reply besides the names of FansError classes

Rows = Sequence[Sequence[Any]]  # one row of JSON values for each reply; their contents travel beside it


class Job(NamedTuple):
    """A request that the front has validated; only what needs a model can still be wrong with it."""

    id: int
    model: str
    lists: Any  # list[list[str | int]]; bytes of JSON, if the front has not parsed them; or their size, in a message
    k: int
    rules: dict[str, Any]
    since: float  # when it arrived, by the monotonic clock that all processes of a machine share
    deadline: float
    fallback: str = "none"  # what lists of only unknown items get
    explain: bool = False  # whether each item of the answer gets an explanation
    kind: str = CONTINUE  # or SIMILAR: the items that are similar to the only item of the only list


def pack_jobs(jobs: Sequence[Job]) -> tuple[Sequence[Job], bytes]:
    """Return jobs with the size of lists that are JSON instead of these, and the lists one after another."""
    content = [job.lists for job in jobs if isinstance(job.lists, bytes)]
    if not content:
        return jobs, b""
    sized = [job._replace(lists=len(job.lists)) if isinstance(job.lists, bytes) else job for job in jobs]
    return sized, b"".join(content)


def unpack_jobs(rows: Rows, content: bytes) -> list[Job]:
    """Return the jobs that `pack_jobs` packed, with all lists parsed."""
    jobs, start = [], 0
    for job in (Job(*row) for row in rows):
        if isinstance(job.lists, int):
            size = job.lists
            job = job._replace(lists=content[start : start + size])
            start += size
        jobs.append(with_lists(job))
    return jobs


def with_lists(job: Job) -> Job:
    """Return the job with its lists, if they are JSON, parsed."""
    return job._replace(lists=from_json(job.lists)) if isinstance(job.lists, bytes) else job


class Reply(NamedTuple):
    """The result of a job: the content of the answer, or an error."""

    id: int
    content: bytes = b""
    lists: int = 0
    items: int = 0
    error: str = ""  # LATE, BUG or the name of the FansError that refuses the request
    detail: str = ""


def pack_replies(replies: Sequence[Reply]) -> tuple[Rows, bytes]:
    """Return the rows of the replies and their contents, one after another."""
    rows = [[r.id, len(r.content), r.lists, r.items, r.error, r.detail] for r in replies]
    return rows, b"".join([reply.content for reply in replies])


def unpack_replies(rows: Rows, content: bytes) -> list[Reply]:
    """Return the replies that `pack_replies` packed."""
    replies, start = [], 0
    for id_, size, lists, items, error, detail in rows:
        replies.append(Reply(id_, content[start : start + size], lists, items, error, detail))
        start += size
    return replies
