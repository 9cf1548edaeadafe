"""The wheel holds everything, and works outside of the source tree. The long version is in test_release.py."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from artifacts import write_kind
from fansrec import __version__
from fansrec.engine.native import library
from release.wheels import ROOT, environment, install, run, share_packages
from skipping import skip_or_fail


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a wheel of the kernels that are compiled already, and a source distribution."""
    if reason := library.missing():
        skip_or_fail(reason)
    out = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "build", "--no-isolation", "--sdist", "--wheel", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, env=os.environ | {"FANS_COMPILED": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def test_wheel_has_the_whole_package_with_kernels(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    packed = {*zipfile.ZipFile(wheel).namelist()}
    source = ROOT / "src"
    files = {path.relative_to(source).as_posix() for path in (source / "fansrec").rglob("*") if path.is_file()}
    assert {name for name in files if "__pycache__" not in name} <= packed
    assert wheel.name.startswith(f"fansrec-{__version__}-py3-none-linux_")
    assert not [name for name in packed if name.startswith(("tests", "benchmarks", "examples"))]


def test_source_distribution_has_what_the_build_needs_and_nothing_compiled(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "PKG-INFO"} <= names
    assert "src/fansrec/engine/native/compile.py" in names and "src/fansrec/engine/native/call.cpp" in names
    assert not [name for name in names if name.endswith((".so", ".pyc"))]


def test_installed_wheel_continues_a_list_outside_of_the_source_tree(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    programs = environment(tmp_path / "env")
    share_packages(programs)
    install(programs, "--no-deps", "--no-index", wheel)
    model = write_kind(tmp_path / "model", "ease")
    place = run(programs / "python", "-c", "import fansrec; print(fansrec.__file__)", cwd=tmp_path)
    assert Path(place.strip()).is_relative_to(tmp_path / "env")
    report = json.loads(run(programs / "fans", "doctor", "--json", cwd=tmp_path))
    assert report["fansrec"] == __version__ and report["self_test"]["backend"] == "native"
    answer = run(programs / "fans", "continue", model, "i3", "i4", "-k", 4, cwd=tmp_path)
    assert len({*answer.split()}) == 4
