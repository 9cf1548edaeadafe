"""A service that takes writes, with a key of each role."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from artifacts import write_kind, write_songs
from fansrec.serving.http.keys import Role, new_key
from serving.service import Running


@dataclass
class Writing:
    """A running service that takes writes, its folder, and its keys by role."""

    running: Running
    folder: Path
    keys: dict[str, str]

    def send(self, method: str, path: str, role: str = "write", **more: Any) -> httpx2.Response:
        return self.running.http.request(method, path, headers=self.headers(role), **more)

    def headers(self, role: str) -> dict[str, str]:
        return {"X-API-Key": self.keys[role]}

    def write(self, id: str, items: list[Any], **more: Any) -> int:
        """Add or replace a list, and return the number of the write."""
        answer = self.send("POST", "/v1/lists", json={"lists": [{"id": id, "items": items} | more]})
        assert answer.status_code == 200, answer.text
        return int(answer.json()["seq"])

    def models(self) -> dict[str, Any]:
        """Return what the service says of its models, by their names."""
        found = self.send("GET", "/v1/models").json()["models"]
        return {model["name"]: model for model in found}


@pytest.fixture(scope="session")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Return a file with a key of each role, and the keys."""
    file = tmp_path_factory.mktemp("keys") / "keys"
    roles: tuple[Role, ...] = ("use", "write", "admin", "metrics")
    return file, {role: new_key(file, role, role) for role in roles}


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with small models: best and vstan can be updated, ease cannot."""
    folder = tmp_path_factory.mktemp("models")
    for kind in ("best", "vstan"):
        write_songs(folder / kind, kind)
    write_kind(folder / "ease", "ease")
    return folder


@pytest.fixture(scope="module")
def writing(
    models: Path, key_file: tuple[Path, dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Writing]:
    """A service with two models that can be updated and one that cannot."""
    folder = tmp_path_factory.mktemp("writes") / "folder"
    options = "--writes", folder, "--keys", key_file[0], "--workers", 2
    limits = {"FANS_MAX_CHANGES": 20, "FANS_MAX_ITEMS": 50}
    with Running(models / "best", models / "vstan", models / "ease", *options, **limits) as running:
        yield Writing(running, folder, key_file[1])
