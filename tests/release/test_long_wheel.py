"""`make wheel`, and its wheel in environments that have nothing else: takes minutes and a package index."""

import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import httpx2
import pytest

from artifacts import write_kind
from release.wheels import ROOT, environment, install, run, variables

pytestmark = pytest.mark.long
DEADLINE_S = 600


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel that is built from the source distribution, with kernels compiled for it, or $FANS_WHEEL."""
    if given := os.environ.get("FANS_WHEEL"):
        return Path(given)
    out = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, ROOT / "tools/build_wheel.py", "--out", out], check=True)
    assert len([*out.glob("fansrec-*.tar.gz")]) == 1
    (path,) = out.glob("fansrec-*.whl")
    return path


def programs_with(folder: Path, wheel: Path, extra: str = "") -> Path:
    """Return the programs of a new environment with the wheel and an extra, in the tested versions."""
    programs = environment(folder / "env")
    install(programs, "-c", ROOT / "constraints.txt", f"fansrec{extra} @ {wheel.as_uri()}")
    return programs


def test_wheel_has_a_manylinux_tag(wheel: Path) -> None:
    assert re.search(r"-py3-none-manylinux_2_\d+_(x86_64|aarch64)", wheel.name)


def test_installation_without_extras_is_small_and_continues_a_list(wheel: Path, tmp_path: Path) -> None:
    programs = programs_with(tmp_path, wheel)
    assert not [*(tmp_path / "env").rglob("site-packages/torch")]
    size = sum(path.stat().st_size for path in (tmp_path / "env").rglob("*") if path.is_file())
    assert size < 150e6
    assert (
        len(run(programs / "fans", "continue", write_kind(tmp_path / "ease", "ease"), "i3", cwd=tmp_path).split()) > 9
    )
    report = json.loads(run(programs / "fans", "doctor", "--json", cwd=tmp_path))
    assert report["self_test"]["backend"] == "native" and not report["extras"]["train"]["installed"]


def test_service_answers_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    programs, model = programs_with(tmp_path, wheel, "[serve]"), write_kind(tmp_path / "ease", "ease")
    command = [programs / "fans", "serve", model, "--port", "0", "--workers", "1"]
    with subprocess.Popen(command, cwd=tmp_path, env=variables(tmp_path), stdout=subprocess.PIPE, text=True) as process:
        timer = threading.Timer(DEADLINE_S, process.kill)
        timer.start()
        try:
            found = re.search(r"http://\S+/", process.stdout.readline())
            assert found is not None
            body = {"lists": [["i3", "i4"]], "k": 5}
            answer = httpx2.post(f"{found[0]}v1/continue", json=body, timeout=DEADLINE_S).json()["answers"][0]
            assert len(answer["positions"]) == 5
            assert "<html" in httpx2.get(found[0], timeout=DEADLINE_S).text
        finally:
            timer.cancel()
            process.terminate()


def test_demo_runs_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    programs = programs_with(tmp_path, wheel, "[train]")
    assert "continu" in run(programs / "fans", "demo", "--out", tmp_path / "demo", cwd=tmp_path)
    assert (tmp_path / "demo" / "fans" / "manifest.json").is_file()
