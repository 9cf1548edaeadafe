"""The contract of the HTTP service, over real HTTP."""

import gzip
import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from fansrec.api.continuer import load
from fansrec.api.unknown import UNKNOWN
from serving.service import DEADLINE_S, Running, until

PROBLEM = "application/problem+json"


def items_of(response: httpx2.Response) -> list[list[str]]:
    assert response.status_code == 200, response.text
    return [[position["item"] for position in answer["positions"]] for answer in response.json()["answers"]]


def refused(response: httpx2.Response, status: int, kind: str) -> Any:
    problem = response.json()
    assert response.status_code == status == problem["status"], response.text
    assert response.headers["content-type"] == PROBLEM
    assert problem["type"] == f"urn:fansrec:{kind}"
    assert problem["request_id"] == response.headers["x-request-id"]
    assert problem["detail"]
    return problem


def test_lists_are_answered_like_the_library(service: Running, songs: Path) -> None:
    lists: list[list[object]] = [["i1", "i2"], ["Song 30", "i31"], []]
    alone = load(songs / "run").continue_lists(lists, 6, exclude=["i9"])
    assert items_of(service.ask(lists, k=6, exclude=["i9"])) == [answer.items for answer in alone]


def test_controls_are_those_of_the_library(service: Running, songs: Path) -> None:
    controls = {"diversity": 0.7, "popularity": -0.5}
    (alone,) = load(songs / "run").continue_lists([["i1", "i2"]], 6, **controls)
    (answer,) = items_of(service.ask([["i1", "i2"]], k=6, **controls))
    assert answer == alone.items != items_of(service.ask([["i1", "i2"]], k=6))[0]
    assert [model["counts"] for model in service.http.get("/v1/models").json()["models"]] == [True] * 3


@pytest.mark.parametrize("control", [{"diversity": 1.5}, {"popularity": -2}, {"freshness": "new"}, {"diversity": None}])
def test_controls_out_of_range_are_refused(service: Running, control: dict[str, object]) -> None:
    (name,) = control
    problem = refused(service.ask([["i1"]], **control), 422, "invalid-request")
    assert name in json.dumps(problem)


def test_freshness_without_dates_is_refused(service: Running) -> None:
    problem = refused(service.ask([["i1"]], freshness=0.5), 422, "bad-setting")
    assert "freshness needs dates of items" in problem["detail"]


def test_list_of_unknown_items_does_not_spoil_a_request(service: Running) -> None:
    cold, warm = service.ask([["nope"], ["i1"]], k=3).json()["answers"]
    assert cold == {"positions": [], "unknown": ["nope"], "reason": UNKNOWN, "fallback": None}
    assert len(warm["positions"]) == 3 and warm["fallback"] is None


def test_list_of_unknown_items_gets_popular_items_if_requested(service: Running) -> None:
    (answer,) = service.ask([["nope"]], k=3, exclude=["i2"], fallback="popular").json()["answers"]
    assert len(answer["positions"]) == 3 and answer["fallback"] == "popular" and answer["unknown"] == ["nope"]
    assert answer["reason"].startswith(UNKNOWN)
    assert "i2" not in [position["item"] for position in answer["positions"]]


def test_explanations_are_those_of_the_library(service: Running, best: Path) -> None:
    lists: list[list[object]] = [["i1", "i2", "i1"], ["nope"], []]
    answers = service.ask(lists, k=4, model="best", explain=True).json()["answers"]
    alone = load(best).continue_lists(lists, 4, explain=True)
    for answer, expected in zip(answers, alone, strict=True):
        assert [one["item"] for one in answer["positions"]] == expected.items
        for one, position in zip(answer["positions"], expected.positions, strict=True):
            assert position.explanation is not None
            assert one["explanation"]["parts"] == pytest.approx(position.explanation.parts, abs=1e-5)
            assert [reason["item"] for reason in one["explanation"]["because"]] == [
                reason.item for reason in position.explanation.because
            ]
    plain = service.ask(lists, k=4, model="best").json()["answers"]
    assert plain == service.ask(lists, k=4, model="best", explain=False).json()["answers"]
    assert "explanation" not in plain[0]["positions"][0]


def test_models_say_whether_they_explain(service: Running) -> None:
    models = {model["name"]: model["explains"] for model in service.http.get("/v1/models").json()["models"]}
    assert models == {"fans": False, "best": True, "recall": False}
    detail = refused(service.ask([["i1"]], explain=True), 422, "bad-setting")["detail"]
    assert "FANS cannot explain its answers; leave out explain" in detail


def test_default_is_ten_items_of_the_first_model(service: Running) -> None:
    answer = service.ask([["i1"]]).json()
    assert (len(answer["answers"][0]["positions"]), answer["model"]["name"]) == (10, "fans")


def test_answer_names_model_and_hash(service: Running) -> None:
    models = {model["name"]: model for model in service.http.get("/v1/models").json()["models"]}
    assert list(models) == ["fans", "best", "recall"]
    assert [models[name]["generation"] for name in models] == ["one-pass", "one-pass", "recall"]
    for name, model in models.items():
        assert service.ask([["i1"]], model=name).json()["model"] == {"name": name, "hash": model["hash"]}


def test_models_say_what_their_scores_groups_and_catalogs_are(service: Running) -> None:
    models = service.http.get("/v1/models").json()["models"]
    assert {model["score_scale"] for model in models} == {"log"}
    assert {model["group_name"] for model in models} == {"group"}
    assert len({model["catalog"] for model in models}) == 1  # all were trained on the same corpus
    assert not any("folder" in model or "vocabulary" in model for model in models)


@contextmanager
def stopped(worker: int) -> Iterator[None]:
    """Stop this worker, so that another one answers meanwhile."""
    os.kill(worker, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(worker, signal.SIGCONT)


def test_every_worker_gives_the_same_answer(service: Running) -> None:
    workers = service.workers()
    assert len(workers) == 2
    by_worker, held = [], []
    with ThreadPoolExecutor(8) as threads:
        for worker in workers:
            # The first request may go to the stopped worker; then that one is busy, and the next goes to the other.
            with stopped(worker):
                requests = {threads.submit(service.ask, [["i3", "i4"]], k=9) for _ in range(4)}
                answered, waiting = wait(requests, timeout=DEADLINE_S, return_when=FIRST_COMPLETED)
                by_worker += [items_of(answer.result()) for answer in answered]
                assert answered
            held += [items_of(answer.result()) for answer in waiting]
    assert service.workers() == workers  # none was replaced meanwhile
    assert all(answer == by_worker[0] for answer in by_worker + held)


def test_items_are_found_by_name_misspelled_name_and_id(service: Running) -> None:
    assert until(lambda: service.http.get("/v1/items", params={"search": "Song"}).status_code == 200)
    found = service.http.get("/v1/items", params={"search": "song 4", "limit": 20}).json()["items"]
    assert "Song 4" in [item["name"] for item in found]
    # A search ends after a fraction of a second, even if a busy machine has not finished it.
    misspelled = "/v1/items?search=snog%2012"
    assert until(lambda: "Song 12" in [item["name"] for item in service.http.get(misspelled).json()["items"]])
    inside = "/v1/items?search=song&limit=100&category=c1"
    assert until(lambda: len(service.http.get(inside).json()["items"]) == 15)
    assert {item["category"] for item in service.http.get(inside).json()["items"]} == {"c1"}
    exact = service.http.get("/v1/items", params={"id": ["i7", "nope", "i3"]}).json()["items"]
    assert [item["item"] for item in exact] == ["i7", "i3"]
    assert exact[0] == {"item": "i7", "name": "Song 7", "group": "artist 1", "category": "c0"}


@pytest.mark.parametrize("model", ["fans", "best"])
def test_similar_items_are_those_of_the_library(service: Running, songs: Path, best: Path, model: str) -> None:
    path, alone = "/v1/items/i7/similar", load({"fans": songs / "run", "best": best}[model])
    found = service.http.get(path, params={"k": 4, "model": model}).json()
    (expected,) = alone.similar_items(["i7"], 4)
    assert [item["item"] for item in found["items"]] == expected.items and found["reason"] is None
    assert found["items"][0]["score"] == pytest.approx(expected.positions[0].score, abs=1e-6)
    assert found["item"]["item"] == "i7" and found["model"]["hash"] == alone.artifact.hash
    assert len(service.http.get(path).json()["items"]) == 10
    assert service.http.get("/v1/items/song%207/similar").json()["item"]["item"] == "i7"


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        ("/v1/items/snog%2012/similar", 404, "unknown-items"),
        ("/v1/items/a%2Fb/similar", 404, "unknown-items"),
        ("/v1/items//similar", 404, "unknown-items"),
        ("/v1/items/%FF/similar", 404, "unknown-items"),
        (f"/v1/items/{'x' * 2000}/similar", 422, "invalid-request"),
        ("/v1/items/i7/similar?k=0", 422, "invalid-request"),
        ("/v1/items/i7/similar?k=100000", 422, "invalid-request"),
        ("/v1/items/i7/similar?model=other", 404, "unknown-model"),
        ("/v1/items/i7/similar/more", 404, "not-found"),
        ("/v1/items/i7", 404, "not-found"),
    ],
)
def test_similar_items_are_refused_with_a_problem(service: Running, path: str, status: int, kind: str) -> None:
    problem = refused(service.http.get(path), status, kind)
    assert "snog" not in path or problem["detail"].endswith("did you mean 'Song 12'?")


@pytest.mark.parametrize(
    ("request_", "status", "kind"),
    [
        ({"lists": [["nope"]]}, 422, "unknown-items"),
        ({"lists": [["i1"]], "speed": 9}, 422, "invalid-request"),
        ({"lists": [["i1"]], "k": 0}, 422, "invalid-request"),
        ({"lists": [["i1"]], "k": "3"}, 422, "invalid-request"),
        ({"lists": [["i1"]], "k": True}, 422, "invalid-request"),
        ({"lists": "i1"}, 422, "invalid-request"),
        ({"lists": []}, 422, "invalid-request"),
        ({"lists": [[1.5]]}, 422, "invalid-request"),
        ({"lists": [[2**63]]}, 422, "invalid-request"),
        ({"lists": [["i1"]], "fallback": "best"}, 422, "invalid-request"),
        ({"lists": [["i1"]], "explain": "yes"}, 422, "invalid-request"),
        ({"lists": [["i1"]], "model": "other"}, 404, "unknown-model"),
        ({"lists": [["i1"]], "categories": ["nowhere"]}, 422, "bad-setting"),
        ({"lists": [["i1"]], "categories": []}, 422, "invalid-request"),
        ({"lists": [["i1"]], "allow": []}, 422, "invalid-request"),
        ({"lists": [["i1"]], "min_score": "1.5"}, 422, "invalid-request"),
        ({"lists": [["i1"]], "min_score": True}, 422, "invalid-request"),
        ({"lists": [["i1"]], "fill": "depth-first"}, 422, "invalid-request"),  # minutes on a large catalog
        ({}, 422, "invalid-request"),
    ],
)
def test_invalid_request_is_refused_with_its_problem(service: Running, request_: Any, status: int, kind: str) -> None:
    refused(service.http.post("/v1/continue", json=request_), status, kind)


def test_invalid_fields_are_listed(service: Running) -> None:
    problem = service.ask([["i1", None]], k=-1).json()
    assert {error["where"].split(".")[0] for error in problem["errors"]} == {"lists", "k"}


def test_body_may_be_compressed_and_must_be_json(service: Running) -> None:
    body = json.dumps({"lists": [["i1"]], "k": 2}).encode()
    packed = {"content-type": "application/json", "content-encoding": "gzip"}
    assert len(items_of(service.http.post("/v1/continue", content=gzip.compress(body), headers=packed))[0]) == 2
    plain = service.http.post("/v1/continue", content=body, headers={"content-type": "text/plain"})
    refused(plain, 415, "not-json")
    broken = service.http.post("/v1/continue", content=b'{"lists', headers={"content-type": "application/json"})
    refused(broken, 422, "invalid-request")


def test_unknown_paths_and_forbidden_actions_are_problems(service: Running) -> None:
    refused(service.http.get("/nowhere"), 404, "not-found")
    refused(service.http.get("/v1/continue"), 405, "wrong-method")
    refused(service.http.get("/v1/items"), 422, "invalid-request")
    refused(service.http.get("/v1/items", params={"search": "x", "limit": "many"}), 422, "invalid-request")
    refused(service.http.get("/v1/items", params={"id": "x", "category": "c0"}), 422, "invalid-request")
    refused(service.http.get("/static/../../settings.py"), 404, "not-found")
    refused(service.http.post("/v1/models/reload"), 403, "no-admin")


def test_unknown_items_in_exclude_are_ignored(service: Running) -> None:
    plain = items_of(service.ask([["i1"]]))
    assert items_of(service.ask([["i1"]], exclude=["nobody"])) == plain


def test_page_answers_head_requests(service: Running) -> None:
    head, whole = service.http.head("/"), service.http.get("/")
    assert head.status_code == whole.status_code == 200
    assert head.content == b"" and head.headers["content-length"] == str(len(whole.content))


def test_openapi_describes_routes_example_and_limits(service: Running) -> None:
    schema = service.http.get("/openapi.json").json()
    assert {"/v1/continue", "/v1/items", "/v1/models", "/v1/models/reload", "/v1/models/rollback"} <= {*schema["paths"]}
    body = schema["paths"]["/v1/continue"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["examples"][0]["lists"]
    assert body["properties"]["lists"]["maxItems"] == 256


def test_trace_and_request_id_are_passed_through(service: Running) -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    headers = service.ask([["i1"]], headers={"traceparent": trace, "x-request-id": "mine-1"}).headers
    assert headers["x-request-id"] == "mine-1"
    assert headers["traceparent"].split("-")[1] == trace.split("-")[1] and headers["traceparent"] != trace
    assert until(lambda: any('"mine-1"' in line and trace.split("-")[1] in line for line in service.log))


@pytest.mark.parametrize(
    ("what", "limit", "request_of"),
    [
        ("lists", 3, lambda n: {"lists": [["i1"]] * n}),
        ("items", 5, lambda n: {"lists": [["i1"] * n]}),
        ("k", 7, lambda n: {"lists": [["i1"]], "k": n}),
        ("exclude", 4, lambda n: {"lists": [["i1"]], "exclude": ["i5"] * n}),
        ("allow", 4, lambda n: {"lists": [["i1"]], "allow": ["i5"] * n}),
        ("categories", 4, lambda n: {"lists": [["i1"]], "categories": ["c0"] * n}),
    ],
)
def test_limits_are_exact(narrow: Running, what: str, limit: int, request_of: Any) -> None:
    for size, status in ((limit - 1, 200), (limit, 200), (limit + 1, 422)):
        response = narrow.http.post("/v1/continue", json=request_of(size))
        assert response.status_code == status, (what, size, response.text)


@pytest.mark.parametrize(("packed", "limit"), [(False, 2000), (True, 3000)])
def test_body_size_is_limited_compressed_and_decompressed(narrow: Running, packed: bool, limit: int) -> None:
    for size, status in ((limit - 1, 200), (limit, 200), (limit + 1, 413)):
        body = b'{"lists": [["i1"]]}'.ljust(size)
        headers = {"content-type": "application/json"} | ({"content-encoding": "gzip"} if packed else {})
        sent = gzip.compress(body) if packed else body
        response = narrow.http.post("/v1/continue", content=sent, headers=headers)
        assert response.status_code == status, (size, response.text)


def test_limits_are_reported(narrow: Running) -> None:
    limits = narrow.http.get("/v1/models").json()["limits"]
    own = {"lists": 3, "items": 5, "k": 7, "rule_items": 4, "body_bytes": 2000}
    assert limits == own | {"answer_items": 25_600, "events": 1000, "changes": 1000, "timeout_ms": 1000 * DEADLINE_S}
