"""Everything the service refuses, in one shape (RFC 9457): what is wrong, and what to do."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from starlette.types import Send

from fansrec.errors import BadArtifact, BadInput, BadSetting, FansError, MissingExtra, Unfinished, UnknownItems

ECHOED = 100  # of what somebody sent, at most so many characters come back
NAMED = 20  # so many bad fields are named; the rest is counted
COUNTED = 2000  # making a Python object of every error takes time: beyond so many none is made
DEEPEST = 8  # levels of a member's value that are written
LARGEST = 2**63

# The first kind that fits is taken.
KINDS: tuple[tuple[type[FansError], int, str], ...] = (
    (UnknownItems, 422, "unknown-items"),
    (BadInput, 422, "bad-input"),
    (BadSetting, 422, "bad-setting"),
    (BadArtifact, 422, "bad-artifact"),
    (MissingExtra, 501, "missing-extra"),
    (Unfinished, 503, "unfinished"),
)


class Problem(Exception):
    """A refusal on its way to the client; `retry_after` among the members becomes a header too."""

    def __init__(
        self, status: int, kind: str, detail: str, *, headers: Mapping[str, str] | None = None, **members: Any
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.headers = dict(headers or {})
        self.members = members
        self._opening: bytes | None = None

    def body(self, request_id: str) -> bytes:
        """The JSON; all but the request id is written once, since one Problem may refuse thousands of requests."""
        if self._opening is None:
            self._opening = self._written()
        return b'%s,"request_id":%s}' % (self._opening, _json(request_id))

    def raw_headers(self, length: int) -> list[tuple[bytes, bytes]]:
        """The headers of an answer whose body has `length` bytes."""
        headers = [
            (b"content-type", b"application/problem+json"),
            (b"content-length", b"%d" % length),
            (b"cache-control", b"no-store"),
        ]
        if "retry_after" in self.members:
            headers.append((b"retry-after", b"%d" % _whole_seconds(self.members["retry_after"])))
        return headers + [(_header(name).lower(), _header(value)) for name, value in self.headers.items()]

    def _written(self) -> bytes:
        title = self.kind.replace("-", " ").capitalize()
        told = {"type": f"urn:fansrec:{self.kind}", "title": title, "status": self.status, "detail": self.detail}
        return _json({**self.members, **told})[:-1]  # a member cannot take the place of the five


def _json(value: Any) -> bytes:
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON can hold it: what came from outside may be any text and any number."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # half a surrogate pair is no text
    if isinstance(value, int):
        return int(value) if -LARGEST <= value < LARGEST else f"a number of {value.bit_length()} bits"
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if depth >= DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        return {str(_plain(key, depth + 1)): _plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(inner, depth + 1) for inner in value]
    return f"a {type(value).__name__}"


def _whole_seconds(seconds: Any) -> int:
    return max(1, math.ceil(seconds)) if isinstance(seconds, (int, float)) and math.isfinite(seconds) else 1


def _header(text: str) -> bytes:
    """Text as a header may carry it: printable ASCII, so that nothing can end the line early."""
    return bytes(byte if 32 <= byte < 127 else ord("?") for byte in text.encode("ascii", "replace"))


def problem_of(error: FansError) -> Problem:
    """What the service says where the library refuses."""
    for error_kind, status, kind in KINDS:
        if isinstance(error, error_kind):
            return Problem(status, kind, str(error))
    return Problem(422, "refused", str(error))


def our_fault(request_id: str) -> Problem:
    return Problem(500, "internal", f"This is a fault of the service; report it with the request id {request_id}.")


def invalid(error: ValidationError) -> Problem:
    """What is wrong with a request that does not fit its type, field by field."""
    count = error.error_count()
    return invalid_fields(error.errors(include_url=False, include_context=False) if count <= COUNTED else [], count)


def invalid_fields(errors: Sequence[Any], count: int) -> Problem:
    """The same of pydantic's errors as they are listed."""
    fields = named(errors)
    detail = "The request does not fit; correct what `errors` names"
    if not fields:
        detail = f"The request does not fit in {count} places, too many to name"
    elif len(fields) == NAMED:
        detail += f", the first {NAMED} of them"
    return Problem(422, "invalid-request", detail + "; /openapi.json has the whole shape.", errors=fields)


def named(errors: Sequence[Any]) -> list[dict[str, str]]:
    """Pydantic's errors as a client reads them: where and what, of the first few."""
    fields: dict[str, list[str]] = {}
    for error in errors:
        where = _where(error["loc"])
        if where not in fields and len(fields) == NAMED:
            break
        fields.setdefault(where, []).append(_what(error))
    return [{"where": where, "what": " / ".join(words[:2])} for where, words in fields.items()]


def _where(place: Sequence[int | str]) -> str:
    """The path of a field. What follows an item's number is the type it was held against, which nobody sent."""
    numbers = [at for at, part in enumerate(place) if isinstance(part, int)]
    return cut(".".join(map(str, place[: numbers[-1] + 1] if numbers else place)))


def _what(error: Any) -> str:
    """Pydantic's words, without more of the input than it takes to find the place."""
    words, given = str(error["msg"]), error.get("input")
    if isinstance(given, str) and len(given) > ECHOED:
        words = words.replace(given, cut(given))
    return cut(words, 2 * ECHOED)


def cut(text: str, longest: int = ECHOED) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


async def send_problem(send: Send, problem: Problem, request_id: str) -> None:
    """The problem as a whole answer, in ASGI's own words."""
    body = problem.body(request_id)
    await send({"type": "http.response.start", "status": problem.status, "headers": problem.raw_headers(len(body))})
    await send({"type": "http.response.body", "body": body})
