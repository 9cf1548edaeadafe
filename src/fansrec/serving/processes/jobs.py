"""Requests and replies as the front and its workers exchange them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

CONTINUE, SIMILAR = "continue", "similar"  # kinds of jobs
LATE, BUG = "late", "bug"  # errors of a reply besides the names of FansError classes

Rows = Sequence[Sequence[Any]]  # one row of JSON values for each reply; their contents travel beside it


class Job(NamedTuple):
    """A request that the front has validated; only what needs a model can still be wrong with it."""

    id: int
    model: str
    lists: list[list[str | int]]
    k: int
    rules: dict[str, Any]
    since: float  # when it arrived, by the monotonic clock that all processes of a machine share
    deadline: float
    fallback: str = "none"  # what lists of only unknown items get
    explain: bool = False  # whether each item of the answer gets an explanation
    kind: str = CONTINUE  # or SIMILAR: the items that are similar to the only item of the only list


@dataclass(frozen=True)
class Reply:
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
