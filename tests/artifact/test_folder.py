import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from fansrec.artifact import FORMAT, check, read_artifact, seal, write_artifact
from fansrec.data.corpus import write_corpus
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadArtifact, FansError
from fansrec.files import json_text
from fansrec.models.registry import build
from training_runs import train
from worlds import MINUTE, corpus_of, vocabulary_of

EVERY_BYTE = 400  # of files up to this size; of larger ones as many bytes, evenly spread


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the smallest artifact that training writes."""
    folder = tmp_path_factory.mktemp("artifact")
    random = np.random.default_rng(0)
    lists = [random.integers(12, size=10).tolist() for _ in range(30)]
    write_corpus(folder / "corpus", corpus_of(lists, vocabulary_of([5, 7]), [0] * 24 + [1] * 3 + [2] * 3))
    train(folder / "corpus", folder / "run", "fans", MINUTE)
    return folder / "run"


@pytest.fixture
def artifact(trained: Path, tmp_path: Path) -> Path:
    """Return a copy that a test may damage."""
    return Path(shutil.copytree(trained, tmp_path / "run"))


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_copied_artifact_gives_the_same_answers(trained: Path, artifact: Path) -> None:
    inputs = [np.array([0, 1, 2]), np.array([11])]
    answers = []
    for folder in (trained, artifact):
        read = read_artifact(folder)
        made = TorchEngine(read.model, len(read.vocabulary)).continue_lists(inputs, 4, Rules())
        answers.append([(answer.items.tolist(), answer.scores.tolist()) for answer in made])
    assert answers[0] == answers[1]
    assert read_artifact(artifact).hash == read_artifact(trained).hash


def test_read_model_is_in_evaluation_mode_with_its_weights(artifact: Path) -> None:
    read = read_artifact(artifact)
    assert not read.model.training
    assert read.config["variant"] == "FANS_TSC-STEP" and list(read.vocabulary.ids)[:2] == ["i0", "i1"]
    weights = load_file(artifact / "model.safetensors")
    assert all(torch.equal(weights[name], tensor) for name, tensor in read.model.state_dict().items())


def test_changed_bytes_are_detected(artifact: Path) -> None:
    assert len(files(artifact)) >= 7
    for path in files(artifact):
        whole = path.read_bytes()
        places = np.unique(np.linspace(0, len(whole) - 1, min(len(whole), EVERY_BYTE)).astype(int))
        with path.open("r+b", buffering=0) as file:
            for place in places.tolist():
                for flipped in (whole[place] ^ 1, whole[place] ^ 0x20):
                    file.seek(place)
                    file.write(bytes([flipped]))
                    with pytest.raises(BadArtifact):
                        check(artifact)
                file.seek(place)
                file.write(whole[place : place + 1])
        assert path.read_bytes() == whole
    read_artifact(artifact)


def test_changed_file_is_refused_by_name(artifact: Path) -> None:
    for path in files(artifact):
        whole = path.read_bytes()
        path.write_bytes(whole[:-2] + bytes([whole[-2] ^ 1]) + whole[-1:])
        with pytest.raises(BadArtifact, match=rf"{path.name} was changed or damaged; copy the whole folder again"):
            read_artifact(artifact)
        path.write_bytes(whole)


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"\n", lambda data: b""])
def test_file_of_another_length_is_refused(artifact: Path, change: Callable[[bytes], bytes]) -> None:
    for path in files(artifact):
        whole = path.read_bytes()
        path.write_bytes(change(whole))
        with pytest.raises(BadArtifact):
            read_artifact(artifact)
        path.write_bytes(whole)


def test_missing_file_is_refused_by_name(artifact: Path) -> None:
    for path in files(artifact):
        if path.name != "manifest.json":
            whole = path.read_bytes()
            path.unlink()
            with pytest.raises(BadArtifact, match=rf"{path.name} is missing; copy the whole folder again"):
                read_artifact(artifact)
            path.write_bytes(whole)


def rewrite_manifest(folder: Path, **changes: Any) -> None:
    """Write a manifest with these changes and the checksum that fits them."""
    content = json.loads((folder / "manifest.json").read_text()) | changes
    content = {name: value for name, value in content.items() if name != "sha256" and value is not None}
    content["sha256"] = hashlib.sha256(json_text(content).encode()).hexdigest()
    (folder / "manifest.json").write_text(json_text(content))


def test_manifest_of_another_version_is_accepted(artifact: Path) -> None:
    rewrite_manifest(artifact, fansrec="0.0.7")
    read_artifact(artifact)


def test_newer_format_is_refused_with_the_advice_to_upgrade(artifact: Path) -> None:
    rewrite_manifest(artifact, format=FORMAT + 1)
    with pytest.raises(BadArtifact, match=rf"has format {FORMAT + 1}, .* reads up to {FORMAT}; upgrade fansrec"):
        read_artifact(artifact)


def test_newer_format_is_recognized_in_an_unknown_manifest(artifact: Path) -> None:
    (artifact / "manifest.json").write_text('{"format": 99, "parts": []}')
    with pytest.raises(BadArtifact, match="upgrade fansrec"):
        read_artifact(artifact)


@pytest.mark.parametrize("content", ["", "null", "[]", "3", "{}", '{"format": "1"}', '{"format": 1}', '{"format": 0}'])
def test_invalid_manifest_is_refused(artifact: Path, content: str) -> None:
    (artifact / "manifest.json").write_text(content)
    with pytest.raises(BadArtifact, match="changed or damaged"):
        read_artifact(artifact)


def test_manifest_without_files_is_refused(artifact: Path) -> None:
    rewrite_manifest(artifact, files=None)
    with pytest.raises(BadArtifact):
        read_artifact(artifact)


def test_manifest_without_the_weights_is_refused(artifact: Path) -> None:
    listed = json.loads((artifact / "manifest.json").read_text())["files"]
    rewrite_manifest(artifact, files={name: value for name, value in listed.items() if name != "model.safetensors"})
    with pytest.raises(BadArtifact):
        read_artifact(artifact)


def test_unfinished_training_is_refused_with_the_advice_to_resume(artifact: Path) -> None:
    (artifact / "manifest.json").unlink()
    (artifact / "checkpoints").mkdir()
    with pytest.raises(BadArtifact, match="Its training is unfinished: resume it with `fans train … --resume`"):
        read_artifact(artifact)


@pytest.mark.parametrize("name", ["nowhere", "empty", "file"])
def test_folder_without_a_model_is_refused_with_advice(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadArtifact, match=r"is not a trained model: .*Train one with `fans train`"):
        read_artifact(tmp_path / name)


def resealed(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    seal(folder)


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"model": "fans"},
        {"model": "fans", "config": {}},
        {"model": "fans", "config": {"category_starts": [0, 5, 12], "positions": 13, "color": "red"}},
        {"model": "fans", "config": {"category_starts": [0, 5, 12], "positions": 13}},  # not the width of the weights
        {"model": "from the future", "config": {"category_starts": [0, 5, 12]}},
    ],
)
def test_invalid_config_is_refused_even_if_sealed(artifact: Path, config: dict[str, Any]) -> None:
    resealed(artifact, "config.json", json.dumps(config).encode())
    with pytest.raises(FansError):
        read_artifact(artifact)


def test_invalid_weights_are_refused_even_if_sealed(artifact: Path) -> None:
    resealed(artifact, "model.safetensors", b"not weights")
    with pytest.raises(BadArtifact, match="does not hold a model this fansrec can build"):
        read_artifact(artifact)


def test_vocabulary_of_another_size_is_refused_even_if_sealed(artifact: Path) -> None:
    for name, content in vocabulary_of([5, 8]).files().items():
        resealed(artifact, name, content)
    with pytest.raises(BadArtifact):
        read_artifact(artifact)


def test_manifest_covers_all_files_except_checkpoints(tmp_path: Path) -> None:
    vocabulary = vocabulary_of([2, 3])
    model = build("popularity", {"category_starts": [0, 2, 5]})
    model.counts += 1
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "state.safetensors").write_text("state")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "figure.txt").write_text("figure")
    config = {"model": "popularity", "config": {"category_starts": [0, 2, 5]}}
    write_artifact(tmp_path, model, vocabulary, config, "# card\n")
    listed = json.loads((tmp_path / "manifest.json").read_text())["files"]
    assert set(listed) == {
        "README.md",
        "categories.json",
        "config.json",
        "deep/figure.txt",
        "items.jsonl",
        "model.safetensors",
    }
    shutil.rmtree(tmp_path / "checkpoints")
    assert read_artifact(tmp_path).model.counts.tolist() == [1.0] * 5


def test_folder_without_a_manifest_is_not_an_artifact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifest is written last, so that an interrupted write leaves no complete folder."""

    def die(folder: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fansrec.artifact.folder.seal", die)
    model = build("popularity", {"category_starts": [0, 5]})
    with pytest.raises(KeyboardInterrupt):
        write_artifact(tmp_path, model, vocabulary_of([5]), {}, "")
    assert (tmp_path / "model.safetensors").is_file()
    with pytest.raises(BadArtifact, match="is not a trained model"):
        read_artifact(tmp_path)


def test_pickled_weights_are_refused(artifact: Path, tmp_path: Path) -> None:
    torch.save({"x": torch.zeros(1)}, tmp_path / "weights.pt")
    resealed(artifact, "model.safetensors", (tmp_path / "weights.pt").read_bytes())
    with pytest.raises(BadArtifact):
        read_artifact(artifact)


def test_weights_of_another_shape_are_refused(artifact: Path) -> None:
    weights = load_file(artifact / "model.safetensors")
    weights["embed.items.weight"] = weights["embed.items.weight"][:-1].contiguous()
    save_file(weights, artifact / "model.safetensors")
    seal(artifact)
    with pytest.raises(BadArtifact, match="train it again"):
        read_artifact(artifact)


def test_weights_are_mapped_and_writing_never_changes_the_file(artifact: Path) -> None:
    before = (artifact / "model.safetensors").read_bytes()
    model = read_artifact(artifact).model
    assert str(artifact / "model.safetensors") in Path("/proc/self/maps").read_text()
    with torch.no_grad():
        for weight in model.parameters():
            weight.fill_(7)
    assert (artifact / "model.safetensors").read_bytes() == before
    again = read_artifact(artifact).model
    assert not any(bool((weight == 7).all()) for weight in again.parameters())


def test_reading_draws_no_random_numbers(artifact: Path) -> None:
    before = torch.get_rng_state()
    read_artifact(artifact)
    assert torch.equal(torch.get_rng_state(), before)


def test_weights_of_another_precision_are_refused(artifact: Path) -> None:
    weights = load_file(artifact / "model.safetensors")
    save_file({name: tensor.half() for name, tensor in weights.items()}, artifact / "model.safetensors")
    seal(artifact)
    with pytest.raises(BadArtifact, match=r"is F16 .* and must be F32 .*; train it again"):
        read_artifact(artifact)


def test_missing_weight_is_refused(artifact: Path) -> None:
    weights = load_file(artifact / "model.safetensors")
    weights.pop("embed.items.weight")
    save_file(weights, artifact / "model.safetensors")
    seal(artifact)
    with pytest.raises(BadArtifact, match="train it again"):
        read_artifact(artifact)


def test_loading_imports_no_library_of_preparation_or_training(artifact: Path) -> None:
    script = """
import sys, fansrec
(answer,) = fansrec.load(sys.argv[1]).continue_lists([["i1", "i2"]], k=3)
assert len(answer.items) == 3
print(*{name.split(".")[0] for name in sys.modules})
"""
    ran = subprocess.run([sys.executable, "-c", script, artifact], capture_output=True, text=True, check=True)
    heavy = {"polars", "pyarrow", "gensim", "sklearn", "scipy", "accelerate", "matplotlib", "pandas", "onnx"}
    assert not heavy & set(ran.stdout.split())
