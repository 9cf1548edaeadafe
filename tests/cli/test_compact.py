"""`fans compact`: what it prints, and logs that it refuses in one line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from artifacts import write_songs
from fansrec.errors import BadArtifact
from fansrec.serving.processes.live_models import LiveModels
from fansrec.serving.writes.log import open_log
from fansrec.serving.writes.store import FILE

Fans = Callable[..., tuple[int, str, str]]
LIST = {"list": {"id": "p", "items": ["i1", "i2"]}}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "vstan"
    write_songs(folder, "vstan")
    return folder


def write(folder: Path, content: dict[str, Any]) -> None:
    """Append a record to the log of a folder."""
    folder.mkdir(exist_ok=True)
    log = open_log(folder / FILE)
    log.append([json.dumps({"time": 1.0} | content).encode()])
    log.close()


def test_report_counts_in_words(model: Path, tmp_path: Path, fans: Fans) -> None:
    folder, out = tmp_path / "folder", tmp_path / "out"
    write(folder, {"changes": [LIST]})
    code, printed, error = fans("compact", folder, model, "--out", out, "--drop")
    assert code == 0, error
    assert "1 write was added, up to number 1; the service removes the writes" in " ".join(printed.split())
    write(folder, {"changes": [LIST]})
    code, printed, _ = fans("compact", folder, out, "--out", tmp_path / "again", "--copy")
    printed = " ".join(printed.split())
    assert code == 0 and "0 writes were added, up to number 1; the log keeps them" in printed
    assert "1 newer write stays in the log" in printed


@pytest.mark.parametrize(
    "content", [{}, {"changes": 5}, {"changes": [5]}, {"changes": [{"list": {"id": "p", "items": []}}]}]
)
def test_record_that_no_service_writes_is_refused(
    model: Path, tmp_path: Path, fans: Fans, content: dict[str, Any]
) -> None:
    write(tmp_path / "folder", {"changes": [LIST]})
    write(tmp_path / "folder", content)
    code, _, error = fans("compact", tmp_path / "folder", model, "--out", tmp_path / "out")
    assert code == 2 and "record 2" in error and "restore the log from a copy" in " ".join(error.split())
    specs = [{"name": "m", "run": model, "generation": None}]
    order = {"models": specs, "device": "cpu", "backend": "auto", "log": str(tmp_path / "folder" / FILE), "last": 2}
    with pytest.raises(BadArtifact, match="record 2"):  # as a service does at its start
        LiveModels(order)
