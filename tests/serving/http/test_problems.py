import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, ValidationError

from fansrec.errors import BadArtifact, BadInput, BadSetting, FansError, Interrupted, MissingExtra, UnknownItems
from fansrec.serving.http.problems import Problem, invalid_request, problem_of, send_problem


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")
    lists: list[list[str | int]]
    k: int = 10


def content(problem: Problem, request_id: str = "r1") -> dict[str, Any]:
    return json.loads(problem.body(request_id))


def error_of(body: str | bytes) -> ValidationError:
    with pytest.raises(ValidationError) as raised:
        Body.model_validate_json(body)
    return raised.value


def test_problem_has_the_standard_members_and_its_own() -> None:
    assert content(Problem(413, "too-large", "The body is too large.", limit=10)) == {
        "type": "urn:fansrec:too-large",
        "title": "Too large",
        "status": 413,
        "detail": "The body is too large.",
        "request_id": "r1",
        "limit": 10,
    }


def test_problem_can_be_sent_to_many_requests() -> None:
    problem = Problem(429, "overload", "Later.", retry_after=1)
    assert content(problem, "a") == {**content(problem, "b"), "request_id": "a"}


def test_member_cannot_replace_a_standard_member() -> None:
    problem = Problem(422, "x", "y")
    problem.members = {"status": 200, "detail": "fine"}
    assert content(problem)["status"] == 422 and content(problem)["detail"] == "y"


@given(detail=st.text() | st.just("\ud800"), member=st.text(), request_id=st.text())
def test_problem_is_always_json(detail: str, member: str, request_id: str) -> None:
    assert content(Problem(422, "odd", detail, member=member), request_id)["status"] == 422


def test_seconds_to_wait_are_also_a_header() -> None:
    assert dict(Problem(429, "x", "y", retry_after=3).raw_headers(0))[b"retry-after"] == b"3"


def test_header_cannot_contain_line_breaks() -> None:
    problem = Problem(400, "x", "y", headers={"Allow": "GET\r\nSet-Cookie: é"})
    assert (b"allow", b"GET??Set-Cookie: ?") in problem.raw_headers(0)


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (UnknownItems("no item is known"), 422, "unknown-items"),
        (BadInput("x"), 422, "bad-input"),
        (BadSetting("x"), 422, "bad-setting"),
        (BadArtifact("x"), 422, "bad-artifact"),
        (MissingExtra("x"), 501, "missing-extra"),
        (Interrupted("x"), 503, "unfinished"),
        (FansError("x"), 422, "refused"),
    ],
)
def test_every_error_of_the_library_has_a_status(error: FansError, status: int, kind: str) -> None:
    problem = problem_of(error)
    assert (problem.status, problem.kind, problem.detail) == (status, kind, str(error))


def test_invalid_request_lists_the_invalid_fields() -> None:
    body = content(invalid_request(error_of('{"lists": [["a", null]], "k": "many", "deptth": 1}')))
    assert body["status"] == 422 and {error["where"] for error in body["errors"]} == {"k", "deptth", "lists.0.1"}
    assert all(error["what"] for error in body["errors"])


def test_item_of_a_wrong_type_is_listed_once() -> None:
    [error] = content(invalid_request(error_of('{"lists": [["a", null]]}')))["errors"]
    assert "string" in error["what"] and "integer" in error["what"]


def test_at_most_twenty_fields_are_listed() -> None:
    body = content(invalid_request(error_of(json.dumps({"lists": [[None] * 30]}))))
    assert [error["where"] for error in body["errors"]] == [f"lists.0.{number}" for number in range(20)]
    assert "the first 20" in body["detail"]


def test_too_many_errors_are_only_counted() -> None:
    body = content(invalid_request(error_of(json.dumps({"lists": [[None] * 5000]}))))
    assert body["errors"] == [] and "10000 places" in body["detail"]


@pytest.mark.parametrize(
    "given_", [{"lists": "x" * 5000}, {"lists": [], "y" * 5000: 1}, {"lists": [], "k": "7" * 9000}]
)
def test_only_a_part_of_the_input_is_echoed(given_: dict[str, Any]) -> None:
    body = invalid_request(error_of(json.dumps(given_))).body("r")
    assert max(body.count(b"x"), body.count(b"y"), body.count(b"7")) < 110


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        b'{"lists": [["\xed\xa0\x80"]]}',
        b'{"lists": "\\ud800"}',
        b"[" * 100_000,
        b'{"k": NaN}',
        b"nul",
    ],
)
def test_invalid_json_lists_errors(body: bytes) -> None:
    assert content(invalid_request(error_of(body)))["errors"]


@given(st.binary(max_size=200))
def test_any_bytes_make_a_valid_problem(body: bytes) -> None:
    problem = Problem(422, "fits", "")
    try:
        Body.model_validate_json(body)
    except ValidationError as error:
        problem = invalid_request(error)
    assert content(problem)["status"] == 422


def test_problem_is_sent_as_a_complete_answer() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(send_problem(send, Problem(404, "not-found", "No."), "r1"))
    start, body = sent
    headers = dict(start["headers"])
    assert start["status"] == 404 and headers[b"content-type"] == b"application/problem+json"
    assert int(headers[b"content-length"]) == len(body["body"]) and not body.get("more_body")
