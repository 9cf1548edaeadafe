import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray

from engine.parity import faults
from fansrec.artifact import Artifact
from fansrec.engine.interface import Continuation
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting
from fansrec.exporting import onnx_file
from fansrec.models.config import nested_settings
from fansrec.models.registry import build, entry, model_name
from worlds import vocabulary_of

VOCABULARY = vocabulary_of([20, 1, 12, 7])
ITEMS = len(VOCABULARY)
SIZES: dict[str, Any] = {
    "category_starts": VOCABULARY.starts.tolist(),
    "positions": 30,
    "width": 16,
    "layers": 2,
    "heads": 2,
    "feedforward": 32,
}
TRAINED = {"causal": True, "transform": False, "next_share": 0.3, "read_masks": 2, "newer": 1.5}
TIED = {"recency": 0.6, "before": 0.4, "near": 0.5, "aligned": 0.8, "sharpness": 3.0}


@dataclass(frozen=True)
class Question:
    lists: list[list[int]]  # -1 may be anywhere
    k: int
    keep_seen: bool = False
    exclude: tuple[int, ...] = ()

    def arrays(self) -> dict[str, NDArray[Any]]:
        longest = max(map(len, self.lists))
        lists = [items + [-1] * (longest - len(items)) for items in self.lists]
        arrays = {"lists": np.array(lists, dtype=np.int64).reshape(len(lists), longest), "k": np.array(self.k)}
        return arrays | {"keep_seen": np.array(self.keep_seen), "exclude": np.array(self.exclude, dtype=np.int64)}

    @property
    def inputs(self) -> list[NDArray[np.int64]]:
        return [np.array([item for item in items if item >= 0], dtype=np.int64) for items in self.lists]


def random_questions() -> list[Question]:
    random = np.random.default_rng(3)
    questions = [
        Question([[]], 5),
        Question([[], [-1, -1]], 30),
        Question([[4, 4, 4]], 30, keep_seen=True),  # more than any category has
        Question([[1, 2, 3], []], 100),  # more than there are
    ]
    for _ in range(25):
        lists = [random.integers(-1, ITEMS, size=random.integers(0, 14)).tolist() for _ in range(random.integers(1, 5))]
        excluded = tuple(random.integers(-1, ITEMS, size=random.integers(0, 4)).tolist())
        questions.append(Question(lists, int(random.integers(1, 26)), bool(random.integers(2)), excluded))
    return questions


def made(name: str, recipe: str = "paper", **settings: Any) -> Any:
    """Return a model whose weights give no ties; the hybrid one has a list memory and a linear part."""
    torch.manual_seed(0)
    memory = {"memory_lists": 60, "linear_neighbours": 7} if recipe == "best" else {}
    found = model_name(name, recipe)
    model = build(found, nested_settings(entry(found).config, SIZES | memory | settings)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=0.4)
    if recipe == "best":
        add_parts(model)
    return model


def add_parts(model: Any) -> None:
    random = np.random.default_rng(0)
    lists = [random.integers(ITEMS, size=random.integers(3, 14)) for _ in range(60)]
    items, offsets = np.concatenate(lists).astype(np.int32), np.cumsum([0, *map(len, lists)])
    model.start(items, offsets)
    model.memory.fit(items, offsets)
    if model.linear is None:
        return
    model.linear.items = torch.randint(ITEMS, (ITEMS, 7), dtype=torch.int32)
    model.linear.weights = torch.randn(ITEMS, 7)


MODELS = {
    "two-stage": lambda: made("fans"),
    "vanilla": lambda: made("fans", classifier="vanilla", use_categories=False),
    "bert4rec": lambda: made("bert4rec"),
    "best": lambda: made("fans", "best"),
    "best with every setting": lambda: made("fans", "best", **TIED),
    "best, vanilla": lambda: made("fans", "best", classifier="vanilla"),
    "best as trained": lambda: made("fans", "best", **TRAINED),
    "best as trained, vanilla": lambda: made("fans", "best", classifier="vanilla", **TRAINED),
    "best, causal": lambda: made("fans", "best", causal=True, layers=3),
    "best, next item only": lambda: made("fans", "best", next_share=1.0),
    "best, causal, next item only": lambda: made("fans", "best", next_share=1.0, causal=True),
    "best without a weight of the network": lambda: made("fans", "best", network_weight=0.0),
    "best without a weight of the memory": lambda: made("fans", "best", memory_weight=0.0, linear_weight=0.0),
    "best without a linear part": lambda: made("fans", "best", linear_neighbours=0),
}


def exported(model: Any, path: Path) -> list[Path]:
    return onnx_file.export_onnx(Artifact(path.parent, model, VOCABULARY, {}, "hash"), path)


def run_isolated(path: Path, questions: list[Question]) -> list[list[Continuation]]:
    """Return the answers of plain ONNX Runtime in a process that has neither torch nor this package."""
    arrays = {f"{name}{i}": array for i, q in enumerate(questions) for name, array in q.arrays().items()}
    np.savez(path.parent / "questions.npz", count=len(questions), **arrays)
    script = Path(__file__).with_name("run_isolated.py")
    command = [sys.executable, "-I", script, path, path.parent / "questions.npz", path.parent / "answers.npz"]
    ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=path.parent)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""  # no warnings
    given = np.load(path.parent / "answers.npz")
    return [answers_of(given[f"items{i}"], given[f"scores{i}"]) for i in range(len(questions))]


def answers_of(items: NDArray[np.int64], scores: NDArray[np.float32]) -> list[Continuation]:
    return [
        Continuation(row[row >= 0], score[row >= 0], VOCABULARY.categories[row[row >= 0]])
        for row, score in zip(items, scores, strict=True)
    ]


@pytest.mark.parametrize("name", MODELS)
def test_onnx_runtime_answers_as_the_reference(name: str, tmp_path: Path) -> None:
    model, questions = MODELS[name](), random_questions()
    exported(model, tmp_path / "model.onnx")
    answers = run_isolated(tmp_path / "model.onnx", questions)
    for question, given in zip(questions, answers, strict=True):
        rules = Rules(keep_seen=question.keep_seen, exclude=[item for item in question.exclude if item >= 0])
        wanted = [question.k] * len(question.lists)
        assert faults(model, model.generation, question.inputs, wanted, rules, given) == []


def test_answer_does_not_depend_on_other_lists(tmp_path: Path) -> None:
    exported(made("fans"), tmp_path / "model.onnx")
    lists = [[1, 2], [30] * 9, [], [5, -1, 7]]
    together, *alone = run_isolated(tmp_path / "model.onnx", [Question(lists, 12), *(Question([x], 12) for x in lists)])
    assert [answer.items.tolist() for answer in together] == [answer.items.tolist() for (answer,) in alone]


def test_weights_too_large_for_one_file_get_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, questions = made("fans", "best"), [Question([[1, 2, 3]], 8)]
    assert exported(model, tmp_path / "whole.onnx") == [tmp_path / "whole.onnx"]
    monkeypatch.setattr(onnx_file, "BESIDE", 0)
    assert exported(model, tmp_path / "two.onnx") == [tmp_path / "two.onnx", tmp_path / "two.onnx.data"]
    ((one,),), ((two,),) = (run_isolated(tmp_path / name, questions) for name in ("whole.onnx", "two.onnx"))
    assert one.items.tolist() == two.items.tolist() and one.scores.tolist() == two.scores.tolist()


def test_file_is_valid_onnx_with_metadata(tmp_path: Path) -> None:
    exported(made("fans", "best"), tmp_path / "model.onnx")
    onnx.checker.check_model(str(tmp_path / "model.onnx"), full_check=True)
    about = {entry.key: entry.value for entry in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert about["model"] == "fans" and about["items"] == str(ITEMS) and about["artifact"] == "hash"


def test_tied_weight_is_stored_once(tmp_path: Path) -> None:
    model = made("fans", "best")
    exported(model, tmp_path / "model.onnx")
    shapes = [tuple(tensor.dims) for tensor in onnx.load(tmp_path / "model.onnx").graph.initializer]
    assert shapes.count(tuple(model.embed.items.weight.shape)) == 1
    assert (ITEMS, SIZES["width"]) not in shapes


def test_parts_without_a_weight_are_not_stored(tmp_path: Path) -> None:
    whole, memory, network = (
        exported_size(made("fans", "best", **weights), tmp_path / "model.onnx")
        for weights in ({}, {"network_weight": 0.0}, {"memory_weight": 0.0, "linear_weight": 0.0})
    )
    embeddings = (ITEMS + 4) * SIZES["width"] * 4
    assert memory < whole - embeddings and network < whole - ITEMS * 7 * 8


def exported_size(model: Any, path: Path) -> int:
    exported(model, path)
    return sum(len(tensor.raw_data) for tensor in onnx.load(path).graph.initializer)


@pytest.mark.parametrize("name", ["popularity", "ease"])
def test_other_models_are_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    model = build(name, {"category_starts": SIZES["category_starts"]})
    with pytest.raises(BadSetting, match=rf"{name} cannot be exported; export fans, bert4rec or bert4rec-nar"):
        exported(model, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []
