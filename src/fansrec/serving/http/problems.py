"""Problems (RFC 9457): the one shape of everything the service refuses. They say what is wrong and what to do."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from starlette.types import Send

from fansrec.errors import BadArtifact, BadInput, BadSetting, FansError, MissingExtra, Unfinished, UnknownItems
from fansrec.validation_messages import in_our_words

MAX_ECHO = 100  # characters of the input that are sent back
MAX_FIELDS = 20  # invalid fields that are listed; the others are counted
MAX_ERRORS = 2000  # above this number of errors no Python object is made of each, since that takes time

# The first class that matches is used.
STATUSES: tuple[tuple[type[FansError], int, str], ...] = (
    (UnknownItems, 422, "unknown-items"),
    (BadInput, 422, "bad-input"),
    (BadSetting, 422, "bad-setting"),
    (BadArtifact, 422, "bad-artifact"),
    (MissingExtra, 501, "missing-extra"),
    (Unfinished, 503, "unfinished"),
)


class Problem(Exception):
    """A refusal that is sent to the client; the member `retry_after` is also sent as a header."""

    def __init__(
        self, status: int, kind: str, detail: str, *, headers: Mapping[str, str] | None = None, **members: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.headers = dict(headers or {})
        self.members = members
        self._cached: bytes | None = None

    def body(self, request_id: str) -> bytes:
        """Return the JSON; all but the request id is cached, since one Problem may refuse thousands of requests."""
        if self._cached is None:
            title = self.kind.replace("-", " ").capitalize()
            own = {"type": f"urn:fansrec:{self.kind}", "title": title, "status": self.status, "detail": self.detail}
            self._cached = _json({**self.members, **own})[:-1]  # members cannot replace the standard ones
        return b'%s,"request_id":%s}' % (self._cached, _json(request_id))

    def raw_headers(self, length: int) -> list[tuple[bytes, bytes]]:
        """Return the headers of an answer whose body has `length` bytes."""
        headers = [
            (b"content-type", b"application/problem+json"),
            (b"content-length", b"%d" % length),
            (b"cache-control", b"no-store"),
        ]
        if "retry_after" in self.members:
            headers.append((b"retry-after", b"%d" % self.members["retry_after"]))
        return headers + [(_header(name).lower(), _header(value)) for name, value in self.headers.items()]


def _json(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="replace")  # a lone surrogate, as in the name of a folder, cannot be encoded


def _header(text: str) -> bytes:
    """Return the text as printable ASCII, so that it cannot end the line of its header."""
    return bytes(byte if 32 <= byte < 127 else ord("?") for byte in text.encode("ascii", "replace"))


def problem_of(error: FansError) -> Problem:
    """Return the problem for an error of the library."""
    for error_class, status, kind in STATUSES:
        if isinstance(error, error_class):
            return Problem(status, kind, str(error))
    return Problem(422, "refused", str(error))


def internal_problem(request_id: str) -> Problem:
    return Problem(500, "internal", f"This is a bug of the service; report it with the request id {request_id}.")


def stopping_problem() -> Problem:
    return Problem(503, "stopping", "The service is stopping; send the request again.", retry_after=1)


def deadline_problem() -> Problem:
    detail = "the answer was not ready before the deadline; request less, or allow more time (Fans-Timeout-Ms)"
    return Problem(504, "deadline", detail)


def invalid_request(error: ValidationError) -> Problem:
    """Return the problem for a body that is not a valid request; it lists the invalid fields."""
    count = error.error_count()
    return invalid_fields(error.errors(include_url=False, include_context=False) if count <= MAX_ERRORS else [], count)


def invalid_fields(errors: Sequence[Any], count: int) -> Problem:
    """Return the same problem for a list of pydantic's errors."""
    fields = _fields(errors)
    detail = "The request is not valid; correct the fields in `errors`"
    if not fields:
        detail = f"The request is not valid in {count} places, too many to list"
    elif len(fields) == MAX_FIELDS:
        detail += f", which lists the first {MAX_FIELDS}"
    return Problem(422, "invalid-request", detail + "; /openapi.json describes requests.", errors=fields)


def _fields(errors: Sequence[Any]) -> list[dict[str, str]]:
    """Return the first of pydantic's errors by field: where it is, and what is wrong."""
    fields: dict[str, list[str]] = {}
    for error in errors:
        where = _where(error["loc"])
        if where not in fields and len(fields) == MAX_FIELDS:
            break
        fields.setdefault(where, []).append(_what(error))
    return [{"where": where, "what": " / ".join(messages[:2])} for where, messages in fields.items()]


def _where(location: Sequence[int | str]) -> str:
    """Return the path of a field, up to the last index: pydantic adds the expected type, which was not sent."""
    indices = [at for at, part in enumerate(location) if isinstance(part, int)]
    return cut(".".join(map(str, location[: indices[-1] + 1] if indices else location)))


def _what(error: Any) -> str:
    """Return what is wrong with a field, with no more of the input than is needed to find it."""
    message, given = in_our_words(str(error["msg"])), error.get("input")
    if isinstance(given, str) and len(given) > MAX_ECHO:
        message = message.replace(given, cut(given))
    return cut(message, 2 * MAX_ECHO)


def cut(text: str, length: int = MAX_ECHO) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


async def send_problem(send: Send, problem: Problem, request_id: str) -> None:
    """Send the problem as a complete ASGI answer."""
    body = problem.body(request_id)
    await send({"type": "http.response.start", "status": problem.status, "headers": problem.raw_headers(len(body))})
    await send({"type": "http.response.body", "body": body})
