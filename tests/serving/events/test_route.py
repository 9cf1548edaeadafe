"""Events over HTTP: two models with a split, clients that report what they accepted, and the report about it."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import fansrec
from fansrec.cli.main import app
from fansrec.evaluation.traffic.report import report
from fansrec.serving.events.reading import EventLog
from serving.service import FANS, Running

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to" / "compare-models-on-traffic.md"
SHOWN = {"type": "shown", "model": "a", "count": 5}
PLAYED = {"type": "played", "model": "a", "item": 7}


@pytest.fixture(scope="module")
def writes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("folder") / "writes"


@pytest.fixture(scope="module")
def comparing(songs: Path, best: Path, writes: Path) -> Iterator[Running]:
    """A service with two models that takes events."""
    models = f"a={songs / 'run'}", f"b={best}"
    options = "--split", "a:50,b:50", "--writes", writes, "--workers", 1
    with Running(*models, *options, FANS_MAX_EVENTS=20) as running:
        yield running


def send(running: Running, *events: dict[str, Any], **more: Any) -> Any:
    return running.http.post("/v1/events", json={"events": events} | more)


def stored(writes: Path) -> list[dict[str, Any]]:
    return [*EventLog(writes)]


def test_acceptance_of_two_models_is_reported_from_what_their_clients_accepted(
    comparing: Running, writes: Path, tmp_path: Path
) -> None:
    before = report(EventLog(writes))["events"] if (writes / "events").exists() and stored(writes) else 0
    accepted, shown = Counter[str](), Counter[str]()
    with fansrec.Client(comparing.url) as client:
        for number in range(80):
            key = f"person {number}"
            answers = client.continue_lists([["i1", "i2"]], k=5, client=key)
            events: list[dict[str, Any]] = [{"type": "shown", "model": answers.model, "count": 5, "client": key}]
            shown[answers.model] += 5
            for position in range(1, 4 if answers.model == "a" else 2):  # of a three are accepted, of b one
                item = answers[0].items[position - 1]
                events.append(
                    {"type": "accepted", "model": answers.model, "item": item, "position": position, "client": key}
                )
                accepted[answers.model] += 1
            assert client.send_events(events) == len(events)
    assert set(shown) == {"a", "b"}

    done = CliRunner().invoke(app, ["events", "report", str(writes), "--json", str(tmp_path / "report.json")])
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "report.json").read_text())
    assert found["events"] - before == 80 + accepted.total() and found["basis"] == "shown"
    for model in found["models"]:
        name = model["model"]
        assert (model["shown"], model["accepted"]) == (shown[name], accepted[name])
        assert model["acceptance"] == pytest.approx({"a": 3 / 5, "b": 1 / 5}[name])
        low, high = model["interval"]
        assert low < model["acceptance"] < high
        by_position = [position["acceptance"] for position in model["positions"]]
        assert by_position == ([1, 1, 1, 0, 0] if name == "a" else [1, 0, 0, 0, 0])
    (difference,) = found["differences"]
    assert abs(difference["difference"]) == pytest.approx(2 / 5)
    assert re.search(r"^.*a, position.*acceptance", done.output, re.MULTILINE)


def test_events_of_each_model_are_counted(comparing: Running) -> None:
    def counts() -> list[float]:
        rows = [("accepted", "b"), ("shown", "a"), ("shown", "other")]
        return [comparing.metric(f'fans_events_total{{model="{model}",type="{type}"}}') for type, model in rows]

    before = counts()
    accepted = {"type": "accepted", "model": "b", "item": "i1", "position": 1}
    assert send(comparing, accepted, SHOWN, SHOWN | {"model": "of last week"}).json() == {"stored": 3}
    assert counts() == [one + 1 for one in before]


def test_stored_event_has_the_fields_that_were_sent(comparing: Running, writes: Path) -> None:
    time = "2026-01-02T03:04:05+01:00"
    send(comparing, PLAYED | {"client": "é", "time": time}, SHOWN)
    *_, played, shown = stored(writes)
    assert datetime.fromisoformat(played.pop("time")) == datetime(2026, 1, 2, 2, 4, 5, tzinfo=UTC)
    assert (played, shown) == (PLAYED | {"client": "é"}, SHOWN)


def test_request_that_is_sent_twice_counts_once(comparing: Running, writes: Path) -> None:
    before = len(stored(writes))
    for _ in range(2):
        assert send(comparing, SHOWN, PLAYED, batch="the same").json() == {"stored": 2}
    assert len(stored(writes)) == before + 2
    with fansrec.Client(comparing.url) as client:
        for _ in range(2):  # two calls are two batches
            client.send_events([PLAYED | {"time": datetime.now(UTC)}])
    assert len(stored(writes)) == before + 4


@pytest.mark.parametrize(
    ("events", "where"),
    [
        ([], "events"),
        ([SHOWN] * 21, "events"),
        ([{"type": "liked", "model": "a", "item": "i1"}], "events.0"),
        ([{"type": "shown", "model": "a"}], "events.0"),
        ([{"type": "accepted", "model": "a"}], "events.0"),
        ([SHOWN | {"item": "i1"}], "events.0"),
        ([PLAYED | {"count": 1}], "events.0"),
        ([PLAYED | {"position": 0}], "events.0"),
        ([PLAYED | {"position": 501}], "events.0"),
        ([PLAYED | {"time": "2026-01-02T03:04:05"}], "events.0"),
        ([PLAYED | {"color": "red"}], "events.0"),
        ([PLAYED | {"model": "x" * 65}], "events.0"),
    ],
)
def test_invalid_events_are_refused_and_nothing_of_the_request_is_stored(
    comparing: Running, writes: Path, events: list[dict[str, Any]], where: str
) -> None:
    before = len(stored(writes))
    response = send(comparing, *[PLAYED, *events][-max(1, len(events)) :]) if events else send(comparing)
    assert response.status_code == 422, response.text
    assert response.json()["errors"][0]["where"].startswith(where)
    assert len(stored(writes)) == before


def test_service_without_writes_says_how_to_switch_them_on(service: Running, comparing: Running) -> None:
    response = send(service, SHOWN)
    assert (response.status_code, response.json()["type"]) == (404, "urn:fansrec:no-writes")
    assert "--writes" in response.json()["detail"]
    assert [running.http.get("/v1/models").json()["events"] for running in (service, comparing)] == [False, True]


def test_openapi_describes_events_with_the_limits(comparing: Running) -> None:
    route = comparing.http.get("/openapi.json").json()["paths"]["/v1/events"]["post"]
    schema = route["requestBody"]["content"]["application/json"]["schema"]
    assert schema["properties"]["events"]["maxItems"] == 20 and schema["examples"][0]["events"]
    assert send(comparing, *schema["examples"][0]["events"]).status_code == 200
    assert {"404", "429", "507"} <= {*route["responses"]}


def test_second_service_with_the_same_folder_is_refused(comparing: Running, songs: Path, writes: Path) -> None:
    command = [FANS, "serve", songs / "run", "--port", "0", "--writes", writes]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and f"another service already writes to {writes}" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_commands_of_the_how_to_work(
    comparing: Running, writes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = HOW_TO.read_text(encoding="utf-8").replace("http://127.0.0.1:8080", comparing.url)
    text = re.sub(r"s00(\d\d)", lambda id: f"i{int(id[1])}", text)
    curls = [shlex.split(block) for block in re.findall(r"^```\n(curl .*?)```", text, re.MULTILINE | re.DOTALL)]
    answers = [
        comparing.http.post(words[1], content=words[words.index("-d") + 1], headers=[header_of(words)])
        for words in curls
    ]
    assert len(answers) == 2 and all(answer.status_code == 200 for answer in answers), answers
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    before = len(stored(writes))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert len(stored(writes)) == before + 2
    monkeypatch.chdir(tmp_path)
    reported = re.findall(r"^fans (events report .*)$", text, re.MULTILINE)
    assert reported and all(
        CliRunner().invoke(app, shlex.split(line.replace("/var/lib/fans", str(writes)))).exit_code == 0
        for line in reported
    )


def header_of(words: list[str]) -> tuple[str, str]:
    name, _, value = words[words.index("-H") + 1].partition(": ")
    return name, value


def test_acknowledged_events_survive_a_kill(songs: Path, tmp_path: Path) -> None:
    with Running(songs / "run", "--writes", tmp_path, "--workers", 1) as running:
        for number in range(20):
            assert send(running, PLAYED | {"item": number}).status_code == 200
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait()
    assert [event["item"] for event in stored(tmp_path)] == [*range(20)]
    with Running(songs / "run", "--writes", tmp_path, "--workers", 1, FANS_MAX_EVENTS_PER_S="0.001") as running:
        assert send(running, *[PLAYED] * 1000).status_code == 200
        slow = send(running, PLAYED)
        assert slow.status_code == 429 and int(slow.headers["retry-after"]) > 60
    assert len(stored(tmp_path)) == 1020
