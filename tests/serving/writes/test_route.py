"""Lists and items over HTTP: who may write them, which are refused, and what the log has when they are acknowledged."""

import os
import signal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from fansrec.serving.writes.records import read_lines
from fansrec.serving.writes.store import FILE
from serving.service import Running
from serving.writes.conftest import Writing

LIST = {"id": "p1", "items": ["i1", "i2"]}


def stored(folder: Path) -> list[dict[str, Any]]:
    """Return all changes in the log."""
    return [change for line in read_lines(folder / FILE) for change in line.record.get("changes", ())]


def test_acknowledged_writes_are_in_the_log(writing: Writing) -> None:
    before = len(stored(writing.folder))
    first = writing.send("POST", "/v1/lists", json={"lists": [LIST | {"title": "é"}, {"id": "a/b", "items": [7]}]})
    items = {"items": [{"id": "n1", "name": "New", "group": "g", "category": "c1", "date": "2026-01-31"}, {"id": 8}]}
    second, third = writing.send("POST", "/v1/items", json=items), writing.send("DELETE", "/v1/lists/a/b")
    assert [answer.status_code for answer in (first, second, third)] == [200, 200, 200], third.text
    seq = first.json()["seq"]
    assert (second.json(), third.json()) == ({"seq": seq + 1}, {"seq": seq + 2})
    assert stored(writing.folder)[before:] == [
        {"list": LIST | {"title": "é"}},
        {"list": {"id": "a/b", "items": [7]}},
        {"item": items["items"][0]},
        {"item": {"id": 8}},
        {"remove": "a/b"},
    ]
    assert writing.send("GET", "/v1/models").json()["writes"]["seq"] == seq + 2


@pytest.mark.parametrize("id", ["a\0b", "a\nb", "a/../b?c#d", " ", "é%00"])
def test_list_with_any_characters_in_its_id_can_be_removed(writing: Writing, id: str) -> None:
    writing.write(id, ["i1", "i2"])
    answer = writing.send("DELETE", f"/v1/lists/{quote(id, safe='')}")
    assert answer.status_code == 200, answer.text
    assert [next(iter(change.values())) for change in stored(writing.folder)[-1:]] == [id]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/lists", {"lists": [LIST]}),
        ("POST", "/v1/items", {"items": [{"id": "i1"}]}),
        ("DELETE", "/v1/lists/p1", None),
    ],
)
def test_writes_need_a_write_or_admin_key(
    writing: Writing, method: str, path: str, body: dict[str, Any] | None
) -> None:
    statuses = {role: writing.send(method, path, role, json=body).status_code for role in writing.keys}
    assert statuses == {"use": 403, "write": 200, "admin": 200, "metrics": 403}
    assert writing.send(method, path, "use", json=body).json()["type"] == "urn:fansrec:not-write"
    assert writing.running.http.request(method, path, json=body).status_code == 401


def test_write_key_may_also_continue_lists(writing: Writing) -> None:
    ask = {"json": {"lists": [["i1"]]}}
    assert writing.send("POST", "/v1/continue", **ask).status_code == 200
    assert writing.send("GET", "/v1/items?id=i1", "use").status_code in (200, 503)  # 503: it is being indexed
    assert writing.send("POST", "/v1/models/reload").status_code == 403


@pytest.mark.parametrize(
    ("path", "body", "where"),
    [
        ("/v1/lists", {"lists": []}, "lists"),
        ("/v1/lists", {"lists": [LIST] * 21}, "lists"),
        ("/v1/lists", {"lists": [LIST, {"id": "p2", "items": []}]}, "lists.1"),
        ("/v1/lists", {"lists": [{"id": "p2", "items": ["i1"] * 51}]}, "lists.0"),
        ("/v1/lists", {"lists": [{"id": "", "items": ["i1"]}]}, "lists.0"),
        ("/v1/lists", {"lists": [{"items": ["i1"]}]}, "lists.0"),
        ("/v1/lists", {"lists": [{"id": 3, "items": ["i1"]}]}, "lists.0"),
        ("/v1/lists", {"lists": [LIST | {"owner": "me"}]}, "lists.0"),
        ("/v1/lists", {"lists": [{"id": "p2", "items": [1.5]}]}, "lists.0"),
        ("/v1/items", {"items": [{"name": "no id"}]}, "items.0"),
        ("/v1/items", {"items": [{"id": "i1", "name": "x" * 1001}]}, "items.0"),
    ],
)
def test_invalid_writes_are_refused_and_nothing_of_the_request_is_stored(
    writing: Writing, path: str, body: dict[str, Any], where: str
) -> None:
    before = len(stored(writing.folder))
    response = writing.send("POST", path, json=body)
    assert response.status_code == 422, response.text
    assert response.json()["errors"][0]["where"].startswith(where)
    assert len(stored(writing.folder)) == before


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/lists", {"lists": [{"id": "p2", "items": [""]}]}),
        ("/v1/items", {"items": [{"id": ""}]}),
        ("/v1/items", {"items": [{"id": "i1", "date": "yesterday"}]}),
    ],
)
def test_changes_that_no_model_could_take_are_refused(writing: Writing, path: str, body: dict[str, Any]) -> None:
    before = len(stored(writing.folder))
    assert writing.send("POST", path, json=body).json()["type"] == "urn:fansrec:bad-input"
    assert len(stored(writing.folder)) == before


def test_service_without_keys_refuses_writes(models: Path, tmp_path: Path) -> None:
    with Running(models / "vstan", "--writes", tmp_path, "--workers", 1) as running:
        for answer in (running.http.post("/v1/lists", json={"lists": [LIST]}), running.http.delete("/v1/lists/p1")):
            assert (answer.status_code, answer.json()["type"]) == (403, "urn:fansrec:no-write")
            assert "--keys" in answer.json()["detail"]
        assert running.ask([["i1"]]).status_code == 200


def test_service_without_a_folder_says_how_to_switch_writes_on(
    models: Path, key_file: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    with Running(models / "vstan", "--keys", key_file[0], "--workers", 1) as running:
        response = running.http.post("/v1/lists", json={"lists": [LIST]}, headers={"X-API-Key": key_file[1]["write"]})
    assert (response.status_code, response.json()["type"]) == (404, "urn:fansrec:no-writes")


def test_full_log_and_fast_writers_are_refused_and_acknowledged_writes_survive_a_kill(
    models: Path, key_file: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    options = models / "vstan", "--writes", tmp_path, "--keys", key_file[0], "--workers", 1
    limits = {"FANS_WRITES_BYTES": 2**20, "FANS_MAX_CHANGES": 101, "FANS_MAX_CHANGES_PER_S": 0.001}
    with Running(*options, **limits) as running:
        writing = Writing(running, tmp_path, key_file[1])
        writing.write("first", ["i1"])
        lists = [{"id": f"p{n}", "items": ["x" * 900] * 10} for n in range(99)]
        assert writing.send("POST", "/v1/lists", json={"lists": lists}).json() == {"seq": 2}
        full = writing.send("POST", "/v1/lists", json={"lists": [{"id": "p", "items": ["x" * 900] * 200}]})
        assert (full.status_code, full.json()["type"]) == (507, "urn:fansrec:log-full")
        fast = writing.send("DELETE", "/v1/lists/first")
        assert (fast.status_code, fast.json()["type"]) == (429, "urn:fansrec:too-fast")
        seq = writing.send("GET", "/v1/models").json()["writes"]["seq"]
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait()
    with Running(*options) as running:
        writing = Writing(running, tmp_path, key_file[1])
        assert writing.send("GET", "/v1/models").json()["writes"]["seq"] == seq
        assert writing.write("next", ["i1"]) == seq + 1
    assert seq == 2 and stored(tmp_path)[0] == {"list": {"id": "first", "items": ["i1"]}}
