import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, ValidationError

from fansrec.errors import BadArtifact, BadInput, BadSetting, FansError, Interrupted, MissingExtra, UnknownItems
from fansrec.serving.http.problems import Problem, invalid, problem_of, send_problem


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")
    lists: list[list[str | int]]
    k: int = 10


def told(problem: Problem, request_id: str = "r1") -> dict[str, Any]:
    return json.loads(problem.body(request_id))


def misfit(content: str | bytes) -> ValidationError:
    with pytest.raises(ValidationError) as raised:
        Asked.model_validate_json(content)
    return raised.value


def test_a_problem_says_what_where_and_which_request() -> None:
    assert told(Problem(413, "too-large", "The body is too large.", limit=10)) == {
        "type": "urn:fansrec:too-large",
        "title": "Too large",
        "status": 413,
        "detail": "The body is too large.",
        "request_id": "r1",
        "limit": 10,
    }


def test_one_problem_can_refuse_many_requests() -> None:
    problem = Problem(429, "overload", "Later.", retry_after=1)
    assert told(problem, "a") == {**told(problem, "b"), "request_id": "a"}


def test_a_member_cannot_take_the_place_of_the_status() -> None:
    problem = Problem(422, "x", "y")
    problem.members = {"status": 200, "detail": "fine"}
    assert told(problem)["status"] == 422 and told(problem)["detail"] == "y"


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary()
    | st.just("\ud800")
    | st.just(object()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def test_a_number_too_long_to_be_written_is_told_by_its_size() -> None:
    assert told(Problem(422, "x", "y", number=10**5000))["number"] == "a number of 16610 bits"


@given(detail=st.text(), member=anything, request_id=st.text())
def test_whatever_is_in_it_a_problem_is_strict_json(detail: str, member: Any, request_id: str) -> None:
    def never(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    body = Problem(422, "odd", detail, member=member).body(request_id)
    assert json.loads(body.decode("utf-8"), parse_constant=never)["status"] == 422


def test_a_value_nested_without_end_is_cut() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert "…" in json.dumps(told(Problem(422, "x", "y", deep=deep)), ensure_ascii=False)


def test_a_header_cannot_end_its_line_early() -> None:
    problem = Problem(400, "x", "y", headers={"Allow": "GET\r\nSet-Cookie: é"})
    assert (b"allow", b"GET??Set-Cookie: ?") in problem.raw_headers(0)


@pytest.mark.parametrize(("seconds", "header"), [(1, b"1"), (0.2, b"1"), (2.1, b"3"), (float("nan"), b"1")])
def test_when_to_try_again_is_told_in_whole_seconds(seconds: float, header: bytes) -> None:
    assert dict(Problem(429, "x", "y", retry_after=seconds).raw_headers(0))[b"retry-after"] == header


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
def test_every_refusal_of_the_library_has_a_status(error: FansError, status: int, kind: str) -> None:
    problem = problem_of(error)
    assert (problem.status, problem.kind, problem.detail) == (status, kind, str(error))


def test_a_request_that_does_not_fit_is_told_field_by_field() -> None:
    body = told(invalid(misfit('{"lists": [["a", null]], "k": "many", "deptth": 1}')))
    assert body["status"] == 422 and {error["where"] for error in body["errors"]} == {"k", "deptth", "lists.0.1"}
    assert all(error["what"] for error in body["errors"])


def test_an_item_of_no_possible_type_is_named_once() -> None:
    [error] = told(invalid(misfit('{"lists": [["a", null]]}')))["errors"]
    assert "string" in error["what"] and "integer" in error["what"]


def test_at_most_twenty_fields_are_named() -> None:
    body = told(invalid(misfit(json.dumps({"lists": [[None] * 30]}))))
    assert [error["where"] for error in body["errors"]] == [f"lists.0.{number}" for number in range(20)]
    assert "the first 20" in body["detail"]


def test_countless_mistakes_are_counted_only() -> None:
    body = told(invalid(misfit(json.dumps({"lists": [[None] * 5000]}))))
    assert body["errors"] == [] and "10000 places" in body["detail"]


@pytest.mark.parametrize(
    "given_", [{"lists": "x" * 5000}, {"lists": [], "y" * 5000: 1}, {"lists": [], "k": "7" * 9000}]
)
def test_no_more_than_a_little_of_the_input_comes_back(given_: dict[str, Any]) -> None:
    body = invalid(misfit(json.dumps(given_))).body("r")
    assert max(body.count(b"x"), body.count(b"y"), body.count(b"7")) < 110


@pytest.mark.parametrize(
    "content",
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
def test_what_is_no_json_is_told_as_well(content: bytes) -> None:
    assert told(invalid(misfit(content)))["errors"]


@given(st.binary(max_size=200))
def test_no_bytes_make_the_telling_fail(content: bytes) -> None:
    problem = Problem(422, "fits", "")
    try:
        Asked.model_validate_json(content)
    except ValidationError as error:
        problem = invalid(error)
    assert told(problem)["status"] == 422


def test_a_problem_is_sent_as_one_whole_answer() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(send_problem(send, Problem(404, "not-found", "No."), "r1"))
    start, body = sent
    headers = dict(start["headers"])
    assert start["status"] == 404 and headers[b"content-type"] == b"application/problem+json"
    assert int(headers[b"content-length"]) == len(body["body"]) and not body.get("more_body")
