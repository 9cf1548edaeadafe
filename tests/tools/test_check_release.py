"""`tools/check_release.py` on small repositories."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check_release.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_release", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "src/fansrec").mkdir(parents=True)
    (tmp_path / "deploy").mkdir()
    (tmp_path / "src/fansrec/__init__.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [1.2.3] - 2027-01-31\n\n- New.\n")
    for name in ("Dockerfile", "compose.yaml"):
        (tmp_path / "deploy" / name).write_text("image: fansrec:1.2.3\n")
    return tmp_path


def test_tag_that_fits_has_no_problems(tool: ModuleType, repository: Path) -> None:
    assert tool.problems("v1.2.3", repository) == []


@pytest.mark.parametrize("tag", ["1.2.3", "v1.2.4", ""])
def test_other_tag_is_refused(tool: ModuleType, repository: Path, tag: str) -> None:
    (problem,) = tool.problems(tag, repository)
    assert "the version in src/fansrec/__init__.py is 1.2.3" in problem


@pytest.mark.parametrize(("heading", "problem"), [("## 1.2.3 (unreleased)", "has no date"), ("## 1.2.2", "no section")])
def test_changelog_without_the_release_is_refused(
    tool: ModuleType, repository: Path, heading: str, problem: str
) -> None:
    (repository / "CHANGELOG.md").write_text(f"# Changelog\n\n{heading}\n")
    assert problem in tool.problems("v1.2.3", repository)[0]


def test_image_of_another_version_is_refused(tool: ModuleType, repository: Path) -> None:
    (repository / "deploy/Dockerfile").write_text("image: fansrec:1.2.2\n")
    assert tool.problems("v1.2.3", repository) == [
        "deploy/Dockerfile names another version of the image; write fansrec:1.2.3"
    ]


def test_version_is_that_of_the_package(tool: ModuleType) -> None:
    import fansrec

    assert tool.version() == fansrec.__version__


def test_command_fails_for_a_wrong_tag() -> None:
    done = subprocess.run([sys.executable, TOOL, "v0.0.0"], capture_output=True, text=True)
    assert done.returncode == 1 and "the tag is v0.0.0" in done.stdout
