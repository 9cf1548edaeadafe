"""The commands and the Python code of the README, the tutorials and the guides, run in order with small data."""

import os
import shutil
from collections.abc import Callable
from contextlib import chdir
from dataclasses import replace
from pathlib import Path

import pytest

from docs.commands import ROOT, blocks, shell_commands
from docs.pages import PAGES
from docs.running import InProcess, Runner
from docs.world import train_small, write_files, write_models
from models.test_add_a_model import install

NOTEBOOKS = {path.with_suffix(".md") for path in ROOT.glob("docs/tutorials/*.py")}  # test_tutorials.py runs them
GUIDES = {*ROOT.glob("docs/tutorials/*.md"), *ROOT.glob("docs/how-to/*.md")} - NOTEBOOKS
RUN = [ROOT / "README.md", ROOT / "docs/README.md", *sorted(GUIDES)]
SAMPLE = "docs/tutorials/sample-world.md"


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with files of lists."""
    folder = tmp_path_factory.mktemp("raw")
    write_files(folder)
    return folder


@pytest.fixture(scope="module")
def trained(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with files, a corpus and models."""
    folder = tmp_path_factory.mktemp("trained")
    shutil.copytree(raw, folder, dirs_exist_ok=True)
    write_models(folder)
    return folder


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the tutorial on the sample world; return its folder."""
    folder = tmp_path_factory.mktemp("sample")
    with chdir(folder), Runner(PAGES[SAMPLE]) as runner:
        runner.run(ROOT / SAMPLE)
    return folder


def test_every_document_with_steps_is_run() -> None:
    assert {str(path.relative_to(ROOT)) for path in RUN} == {*PAGES}


@pytest.mark.parametrize("name", PAGES)
def test_skipped_commands_exist(name: str) -> None:
    texts = [command.text for command in shell_commands(ROOT / name)]
    assert not [start for start in PAGES[name].skip if not any(text.startswith(start) for text in texts)]


def test_quick_start_of_the_readme_runs_with_a_small_model(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, page = shutil.copytree(raw, tmp_path / "work"), PAGES["README.md"]
    train_small(monkeypatch)
    less = {"fans compare": "takes a minute", "fans doctor": "tests/test_diagnosis.py runs it"}
    with chdir(folder), InProcess(replace(page, skip=page.skip | less)) as runner:
        runner.run(ROOT / "README.md")
    verbs = [text.split()[1] for text in runner.ran if text.startswith("fans")]
    assert verbs == ["prepare", "train", "evaluate", "continue", "serve", "update"]


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in PAGES if name != SAMPLE])
def test_commands_of_the_document_run(
    name: str, raw: Path, trained: Path, tmp_path: Path, real_data: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    folder = tmp_path / "work"
    shutil.copytree(raw if PAGES[name].raw else trained, folder)
    text = (ROOT / name).read_text(encoding="utf-8")
    if "runs/demo" in text:
        shutil.copytree(request.getfixturevalue("sample") / "runs" / "demo", folder / "runs" / "demo")
    if "fans data fetch" in text:
        monkeypatch.setenv("FANS_DATA", str(real_data("aotm/AotM.txt.zip").parents[1]))
    if name == "docs/how-to/add-a-model.md":
        install(folder, blocks(ROOT / name)[0].text, "mean_model:ENTRY")
        monkeypatch.setenv("PYTHONPATH", f"{folder}:{os.environ.get('PYTHONPATH', '')}")
    with chdir(folder), Runner(PAGES[name]) as runner:
        runner.run(ROOT / name)
    assert {*runner.skipped} == {*PAGES[name].skip}  # no beginning hides another one


@pytest.mark.long
def test_commands_of_the_sample_world_run(sample: Path) -> None:
    assert (sample / "report.html").is_file()
