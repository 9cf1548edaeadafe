"""Trained models are loaded, continue lists and are served where torch is not installed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fansrec
from artifacts import KINDS, write_kind
from fansrec.engine.native.library import missing
from serving.service import FANS, Running
from skipping import skip_or_fail

TORCH_ONLY = {"gru4rec": "Gru4Rec", "caser": "Caser", "car": "Car", "markov": "Markov"}
LISTS = [["i3", "i4", "i9"], [], ["i50"]]
ANSWER = """
import json, sys, fansrec
answers = {}
for folder in sys.argv[2:]:
    model = fansrec.load(folder)
    found = model.continue_lists(json.loads(sys.argv[1]), k=7)
    found += [] if model.artifact.stored.name == "popularity" else model.similar_items(["i3"], k=7)
    answers[folder] = [answer.to_json() for answer in found]
print(json.dumps(answers))
"""


@pytest.fixture(autouse=True)
def kernel() -> None:
    """Require the native kernel, which is all that can run a model without torch."""
    if reason := missing():
        skip_or_fail(reason)


@pytest.fixture
def no_torch(tmp_path: Path) -> dict[str, str]:
    """Return variables for a process in which torch cannot be imported."""
    folder = tmp_path / "no torch"
    folder.mkdir()
    (folder / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n")
    return {"PYTHONPATH": os.pathsep.join([str(folder), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])}


def run(*command: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], env=os.environ | variables, capture_output=True, text=True)


def test_models_of_the_kernel_answer_without_torch(tmp_path: Path, no_torch: dict[str, str]) -> None:
    folders = [write_kind(tmp_path / kind, kind) for kind, (name, _) in KINDS.items() if name not in TORCH_ONLY]
    done = run(sys.executable, "-c", ANSWER, json.dumps(LISTS), *folders, **no_torch)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    for folder in folders:
        model = fansrec.load(folder)
        found = model.continue_lists(LISTS, k=7)
        found += [] if folder.name == "popularity" else model.similar_items(["i3"], k=7)
        assert answers[str(folder)] == [answer.to_json() for answer in found]


@pytest.mark.parametrize("kind", TORCH_ONLY)
def test_error_names_the_extra_of_a_model_that_only_torch_runs(
    kind: str, tmp_path: Path, no_torch: dict[str, str]
) -> None:
    done = run(FANS, "continue", write_kind(tmp_path / kind, kind), "i3", **no_torch)
    assert (done.returncode, done.stdout) == (2, "")
    message = f"fans: {TORCH_ONLY[kind]} needs torch, which is not installed; run: pip install 'fansrec[torch]'\n"
    assert done.stderr == message


def test_error_says_why_the_kernel_cannot_be_used(tmp_path: Path, no_torch: dict[str, str]) -> None:
    folder = write_kind(tmp_path / "fans", "fans")
    done = run(FANS, "continue", folder, "i3", FANS_NATIVE="off", **no_torch)
    assert done.returncode == 2 and "switched off (FANS_NATIVE=off)" in done.stderr
    assert done.stderr.endswith("needs torch, which is not installed; run: pip install 'fansrec[torch]'\n")


def test_other_ways_to_fill_positions_need_torch(tmp_path: Path, no_torch: dict[str, str]) -> None:
    done = run(FANS, "continue", write_kind(tmp_path / "best", "best"), "i3", "--fill", "arranged", **no_torch)
    assert done.returncode == 2
    assert done.stderr == (
        "fans: fill arranged needs torch, which is not installed; run: pip install 'fansrec[torch]'\n"
    )


def test_gpu_names_its_extra(tmp_path: Path, no_torch: dict[str, str]) -> None:
    done = run(FANS, "continue", write_kind(tmp_path / "fans", "fans"), "i3", "--device", "cuda", **no_torch)
    assert done.returncode == 2
    assert done.stderr == "fans: torch is not installed; run: pip install 'fansrec[gpu]'\n"


def test_training_names_its_extra(songs: Path, tmp_path: Path, no_torch: dict[str, str]) -> None:
    done = run(FANS, "train", songs / "corpus", "--out", tmp_path / "run", **no_torch)
    assert done.returncode == 2
    assert done.stderr == "fans: torch is not installed; run: pip install 'fansrec[train]'\n"


def test_service_answers_without_torch(songs: Path, best: Path, tmp_path: Path, no_torch: dict[str, str]) -> None:
    ease = write_kind(tmp_path / "ease", "ease")
    models = [f"fans={songs / 'run'}", f"best={best}", f"ease={ease}"]
    with Running(*models, "--workers", 1, **no_torch) as service:
        described = service.http.get("/v1/models").json()["models"]
        assert [model["backend"] for model in described] == ["native"] * 3
        for name, folder in {"fans": songs / "run", "best": best, "ease": ease}.items():
            model = fansrec.load(folder)
            given = [str(item) for item in model.vocabulary.ids[3:6]]
            (answer,) = service.ask([given], k=5, model=name).json()["answers"]
            assert [position["item"] for position in answer["positions"]] == model.continue_lists([given], k=5)[0].items
