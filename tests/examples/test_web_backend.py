"""examples/web_backend: suggestions and events through a service, and what people see when it fails."""

import asyncio
import importlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from examples.conftest import Shop
from examples.relay import Relay
from fansrec.serving.events.reading import EventLog
from serving.service import DEADLINE_S, until

FOLDER = Path(__file__).parents[2] / "examples" / "web_backend"
BEST_SELLERS = [{"id": f"i{number}", "name": f"Song number {number}"} for number in (50, 51, 52)]


class Backend:
    """The program in a process of its own, in which torch cannot be imported."""

    def __init__(self, folder: Path, url: str, key: str) -> None:
        (folder / "best_sellers.json").write_text(json.dumps(BEST_SELLERS))
        (folder / "torch.py").write_text("raise ImportError('this is not needed')")
        variables = {"FANS_URL": url, "FANS_KEY": key, "BEST_SELLERS": str(folder / "best_sellers.json")}
        variables["FANS_PATIENCE"] = "60"  # a slow machine is not a failure of the service
        variables["PYTHONPATH"] = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "app:app", "--port", "0"],
            cwd=FOLDER,
            env=os.environ | variables,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.log: list[str] = []
        threading.Thread(target=self._read_log, daemon=True).start()
        assert until(lambda: self.logged(r"running on http://\S+"))
        [address] = re.findall(r"running on (http://\S+)", "".join(self.log))
        self.http = httpx2.Client(base_url=address, timeout=DEADLINE_S)

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        self.log.extend(self.process.stderr)

    def logged(self, pattern: str) -> bool:
        return self.process.poll() is None and re.search(pattern, "".join(self.log)) is not None

    def suggestions(self, playlist: str, **query: Any) -> dict[str, Any]:
        answer = self.http.get(f"/playlists/{playlist}/suggestions", params=query)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def add(self, playlist: str, song: str | int, **suggested: Any) -> None:
        assert self.http.post(f"/playlists/{playlist}/songs", json={"song": song} | suggested).status_code == 204


@pytest.fixture
def relay(shop: Shop) -> Iterator[Relay]:
    with Relay(shop.url) as relay:
        yield relay


@pytest.fixture
def backend(relay: Relay, shop: Shop, tmp_path: Path) -> Iterator[Backend]:
    backend = Backend(tmp_path, relay.url, shop.keys["use"])
    with backend.http:
        yield backend
    backend.process.terminate()
    assert backend.process.wait(DEADLINE_S) in (0, -15), "".join(backend.log)


def accepted(shop: Shop) -> list[str | int]:
    """Return the songs of all events that count, in the order of their arrival."""
    return [event["item"] for event in EventLog(shop.writes) if event["type"] == "accepted"]


def test_backend_suggests_reports_and_survives_every_failure_of_the_service(
    backend: Backend, relay: Relay, shop: Shop
) -> None:
    for song in ("i3", "i4", "i5"):
        backend.add("p1", song)
    first = backend.suggestions("p1")
    assert first["source"] == "mine" and len(first["songs"]) == 5
    assert not {"i3", "i4", "i5"} & {song["id"] for song in first["songs"]}
    assert backend.suggestions("p1") == first
    assert relay.connections <= 2  # one of the pages and one of the events: connections are kept
    assert len(backend.suggestions("no songs yet", count=3)["songs"]) == 3

    for wrong in (
        {"song": ""},
        {"song": 2**63},
        {"song": 1.5},
        {"song": True},
        {"song": "i1", "source": "m" * 65},
        {"song": "i1", "source": "mine", "position": 0},
    ):
        assert backend.http.post("/playlists/p1/songs", json=wrong).status_code == 422
    backend.add("p1", first["songs"][1]["id"], source="mine", position=2)
    assert until(lambda: accepted(shop) == [first["songs"][1]["id"]])
    (event,) = [event for event in EventLog(shop.writes) if event["type"] == "accepted"]
    assert event["position"] == 2 and event["client"] == backend.http.cookies["person"]

    for mode, said in (("overloaded", "429"), ("drop", "no answer")):
        relay.mode = mode
        backend.add("p1", "i50")  # a best seller that is in the playlist is not suggested
        assert backend.suggestions("p1") == {"source": None, "songs": BEST_SELLERS[1:]}
        assert until(lambda said=said: backend.logged(f"showing best sellers: .*{said}"))  # read by a thread
    relay.mode = "lose"  # the service stores what it gets, but its answers are lost: events are sent again
    backend.add("p1", "i7", source="mine", position=1)
    sent = len(relay.requests)
    assert until(lambda: relay.requests[sent:].count(("POST", "/v1/events")) > 2)
    relay.mode = "pass"
    backend.add("p1", "i8", source="mine", position=1)
    assert until(lambda: "i8" in accepted(shop))
    assert accepted(shop) == [first["songs"][1]["id"], "i7", "i8"]  # each of them once
    assert backend.suggestions("p1")["source"] == "mine"

    backend.add("p1", "i9", source="mine", position=1)
    backend.add("p1", 7, source="mine", position=1)  # ids of other models are integers
    backend.process.terminate()
    backend.process.wait(DEADLINE_S)
    assert accepted(shop)[-2:] == ["i9", 7]  # the last events are sent before it ends


def test_page_does_not_wait_for_a_service_that_hangs(
    relay: Relay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "best_sellers.json").write_text(json.dumps(BEST_SELLERS))
    monkeypatch.setenv("BEST_SELLERS", str(tmp_path / "best_sellers.json"))
    monkeypatch.setenv("FANS_URL", relay.url)
    monkeypatch.setenv("FANS_PATIENCE", "0.2")
    monkeypatch.syspath_prepend(FOLDER)
    app = importlib.import_module("app").app
    for name in ("app", "reporter"):
        del sys.modules[name]
    relay.mode = "hang"

    async def suggestions() -> httpx2.Response:
        transport = httpx2.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, base_url="http://t") as page,
        ):
            return await page.get("/playlists/p1/suggestions", params={"count": 2})

    assert asyncio.run(suggestions()).json() == {"source": None, "songs": BEST_SELLERS[:2]}
