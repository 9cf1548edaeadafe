"""`fans doctor`: a report on any machine, which a broken kernel cannot stop."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fansrec import __version__, diagnosis
from fansrec.cli.doctor import doctor as show_report
from fansrec.engine import self_test
from fansrec.engine.native import library
from fansrec.engine.native.compile import HERE, find_compiler
from skipping import skip_or_fail

FANS = [sys.executable, "-c", "from fansrec.cli.main import run; run()", "doctor"]
DYING_KERNEL = "\n".join(
    f'extern "C" __attribute__((visibility("default"))) void {name}() {{ __builtin_trap(); }}'
    for name in library.FUNCTIONS
)


def doctor(*options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*FANS, *options], env=os.environ | variables, capture_output=True, text=True)


@pytest.mark.parametrize("backend", ["torch", "native"])
def test_every_backend_gives_the_items_of_the_self_test(backend: str) -> None:
    if backend == "native" and (reason := library.missing()):
        skip_or_fail(reason)
    assert self_test.answer(backend) == (backend, list(self_test.EXPECTED))


def test_report_has_versions_kernel_extras_and_data_folder(tmp_path: Path) -> None:
    done = doctor("--json", FANS_DATA=str(tmp_path))
    report = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert report["fansrec"] == __version__ and report["can_continue_lists"]
    assert report["self_test"]["passed"] and report["extras"]["train"]["installed"]
    assert report["data"]["folders"][0] == str(tmp_path) and report["data"]["sets"] == []
    assert bool(report["gpu"]["names"]) is not bool(report["gpu"]["problem"])


def test_killed_self_test_is_reported_with_the_instructions_that_work(tmp_path: Path) -> None:
    """A kernel of other instructions than the CPU has dies of an illegal one."""
    if reason := library.missing() or (None if find_compiler() else "there is no C++ compiler; install g++"):
        skip_or_fail(reason)
    for path in HERE.glob("libfans-*.so"):
        shutil.copy(path, tmp_path)
    widest = library.widest()
    (tmp_path / "dying.cpp").write_text(DYING_KERNEL)
    target = str(tmp_path / f"libfans-{widest}.so")
    subprocess.run([*find_compiler().split(), "-shared", "-fPIC", "-o", target, tmp_path / "dying.cpp"], check=True)
    done = doctor(FANS_NATIVE_FOLDER=str(tmp_path), FANS_NATIVE="" if widest != "portable" else widest)
    assert done.returncode == 2 and "self-test   failed: the process was killed by SIG" in done.stdout
    message = "fans: lists cannot be continued: the process was killed by SIG"
    assert done.stderr.startswith(message) and done.stderr.count("\n") == 1
    if widest != "portable":
        assert "FANS_NATIVE=" in done.stderr


@pytest.mark.parametrize(("usable", "text"), [(8, "8 cores\n"), (3, "8 cores (3 usable)\n")])
def test_usable_cores_are_shown_if_there_are_fewer(
    usable: int, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    passed = {"passed": True, "backend": "native"}
    kernel = {"problem": None, "instructions": "avx2", "compiled": ["avx2"]}
    monkeypatch.setattr(diagnosis, "test_kernel", lambda: (kernel, passed))
    monkeypatch.setattr(diagnosis, "usable_cores", lambda: usable)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    show_report()
    assert text in capsys.readouterr().out


def test_wrong_items_fail_the_self_test(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(self_test, "EXPECTED", (1, 2, 3))
    assert self_test.main() == 1
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert not result["passed"] and "other items" in result["problem"]


def test_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "find_spec", lambda name: None)
    found = diagnosis.describe_extra("serve")
    assert not found["installed"] and "uvicorn" in found["missing"]
    assert found["install"] == "pip install 'fansrec[serve]'"


def test_every_extra_has_a_purpose() -> None:
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    assert diagnosis.PURPOSES.keys() == tomllib.loads(text)["project"]["optional-dependencies"].keys() - {"dev", "docs"}
