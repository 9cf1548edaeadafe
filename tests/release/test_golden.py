"""Artifacts of every format load, and answer with the same items as when they were written (tests/golden)."""

import json
import shutil
from pathlib import Path

import pytest

import fansrec
from fansrec.artifact.manifest import FORMAT, READABLE
from fansrec.errors import BadArtifact
from release.wheels import ROOT

GOLDEN = ROOT / "tests" / "golden"
FOLDERS = sorted(path.parent for path in GOLDEN.glob("*/*/manifest.json"))
INPUTS = [["i3", "i4", "i9"], [], ["i50"], ["i1", "i30", "i45", "i20"]]


@pytest.mark.parametrize("backend", ["torch", "auto"])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(GOLDEN)))
def test_artifact_answers_with_the_same_items(folder: Path, backend: str) -> None:
    answers = fansrec.load(folder, backend=backend).continue_lists(INPUTS, k=7)
    expected = json.loads((folder.parent / "answers.json").read_text(encoding="utf-8"))
    assert [answer.items for answer in answers] == expected[folder.name]


def test_every_format_has_its_folder_and_stays_readable() -> None:
    formats = {json.loads((folder / "manifest.json").read_text())["format"] for folder in FOLDERS}
    assert formats == {*range(1, FORMAT + 1)} == {*READABLE}
    for number in formats:
        folder = GOLDEN / f"format-{number}"
        assert {path.parent.name for path in folder.glob("*/manifest.json")} == {
            *json.loads((folder / "answers.json").read_text())
        }


def test_changed_artifact_is_noticed(tmp_path: Path) -> None:
    folder = shutil.copytree(GOLDEN / "format-2" / "ease", tmp_path / "ease")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    with pytest.raises(BadArtifact, match="changed or damaged"):
        fansrec.load(folder)
