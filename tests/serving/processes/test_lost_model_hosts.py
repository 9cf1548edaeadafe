"""Model hosts that stop responding."""

import os
import signal
import threading
from pathlib import Path

import httpx2

from artifacts import write_songs
from fansrec.serving.http.keys import new_key
from serving.service import Running, descendants, until


def test_hung_model_host_is_replaced_and_a_reload_waits_only_until_then(tmp_path: Path) -> None:
    write_songs(tmp_path / "vstan", "vstan")
    admin = {"X-API-Key": new_key(tmp_path / "keys", "admin", "admin")}
    options = "--writes", tmp_path / "writes", "--keys", tmp_path / "keys", "--workers", 1
    with Running(tmp_path / "vstan", *options, FANS_HANG_S=5) as service:
        host = dict(descendants(service.process.pid))[service.workers()[0]]
        os.kill(host, signal.SIGSTOP)
        written = service.http.post("/v1/lists", headers=admin, json={"lists": [{"id": "p", "items": ["new", "i1"]}]})
        assert written.status_code == 200, written.text
        reloads: list[httpx2.Response] = []
        reload = threading.Thread(
            target=lambda: reloads.append(service.http.post("/v1/models/reload", headers=admin)), daemon=True
        )
        reload.start()
        assert until(lambda: host not in [child for child, _ in descendants(service.process.pid)])
        assert until(lambda: service.ask([["new"]], headers=admin).status_code == 200)
        assert until(lambda: bool(reloads)) and reloads[0].status_code in (200, 409)
        assert service.ask([["new"]], headers=admin).json()["answers"][0]["positions"][0]["item"] == "i1"
        assert any("is hung while it applies writes" in line for line in service.log)
