"""The GPU engine: what surrounds its kernels everywhere, and its answers where there is a GPU."""

import copy
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from engine.parity import FP16, faults
from fansrec.engine.backends import open_engine
from fansrec.engine.cuda import backend as cuda_backend
from fansrec.engine.cuda import driver, structures
from fansrec.engine.cuda.packing import Blocks, in_lane_order
from fansrec.engine.cuda.sizes import macros
from fansrec.engine.generation import AUTOREGRESSIVE, ONE_PASS
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadSetting
from fansrec.models.fans import Fans, FansConfig
from fansrec.models.registry import build

KERNELS = Path(driver.__file__).parent
STARTS = (0, 300, 301, 500, 1000)
SIZES = {"category_starts": STARTS, "positions": 60, "dropout": 0.0}
KINDS = {
    "two-stage": ("fans", {}),
    "vanilla": ("fans", {"classifier": "vanilla"}),
    "no categories embedded": ("fans", {"use_categories": False}),
    "four heads": ("fans", {"heads": 4, "layers": 2}),
    "bert4rec": ("bert4rec", {}),
}
RULES = [Rules(), Rules(keep_seen=True), Rules(exclude=range(0, 900, 3)), Rules(allow=range(295, 420))]
gpu = pytest.mark.skipif(driver.missing() is not None, reason=f"no GPU to try it on: {driver.missing()}")


def test_weights_are_laid_out_as_the_lanes_of_a_warp_take_them() -> None:
    matrix = torch.randn(16, 64).half()
    packed = in_lane_order(matrix).view(2, 2, 32, 4, 2)  # tiles of 8 outputs, steps of 32 inputs, lanes, words, halves
    for tile, step, lane, word, half in np.ndindex(2, 2, 32, 4, 2):
        output, column = 8 * tile + lane // 4, 32 * step + 8 * word + 2 * (lane % 4) + half
        assert packed[tile, step, lane, word, half] == matrix[output, column]


def test_no_block_of_items_crosses_the_border_of_a_category() -> None:
    blocks = Blocks.of(STARTS)
    assert np.diff(blocks.first_block).tolist() == [10, 1, 7, 16]
    assert blocks.item_at[blocks.place_of].tolist() == list(range(1000))
    of_item = np.searchsorted(STARTS, np.arange(1000), side="right") - 1
    assert (blocks.category_of_block[blocks.place_of // 32] == of_item).all()
    assert (blocks.item_at >= 0).sum() == 1000


@pytest.mark.parametrize("name", ["Weights", "Question", "Asked", "Catalogue", "Found", "Table", "Answer"])
def test_structures_have_the_fields_of_the_kernels_own(name: str) -> None:
    source = "\n".join(path.read_text() for path in KERNELS.glob("*.cuh"))
    body = re.search(rf"struct {name} \{{(.*?)\n\}};", source, re.S)
    assert body is not None
    declarations = re.sub(r"//[^\n]*", "", body[1]).split(";")
    fields = [
        (found[2], "*" if found[1] else "." if "float" in declaration else "")
        for declaration in declarations
        for found in re.finditer(r"(\*?)\b([a-z_0-9]+)\b(?=\s*(?:,|$))", declaration.strip())
    ]
    kinds = {"c_void_p": "*", "c_float": ".", "c_int": ""}
    assert fields == [(field, kinds[kind.__name__]) for field, kind in getattr(structures, name)._fields_]


@pytest.mark.long
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no CUDA compiler here")
def test_the_kernels_compile_for_every_kind_of_model(tmp_path: Path) -> None:
    model = build("fans", SIZES | {"classifier": "two-stage"})
    common = {"WIDTH": 64, "HEADS": 8, "FEEDFORWARD": 256, "LAYERS": 3, "CATEGORIES": 4}
    for number, flags in enumerate([(1, 1, 1), (0, 0, 0)]):
        sizes = common | dict(zip(("TWO_STAGE", "EMBED_CATEGORIES", "IN_PARTS"), flags, strict=True))
        source = tmp_path / f"{number}.cu"
        text = "".join(f"#define {key} {value}\n" for key, value in sizes.items())
        source.write_text(text + "".join(f'#include "{KERNELS / name}.cuh"\n' for name in driver.SOURCES))
        made = subprocess.run(
            ["nvcc", "-arch=sm_90", "-cubin", "-o", str(tmp_path / "out"), str(source)], capture_output=True, text=True
        )
        assert made.returncode == 0, made.stderr
    assert set(macros(model, _Packed(True, 4, model.embed.categories))) == set(sizes)


class _Packed:
    """As much of a packed model as its sizes depend on."""

    def __init__(self, two_stage: bool, categories_known: int, categories: object) -> None:
        self.two_stage, self.categories_known, self.categories = two_stage, categories_known, categories


def test_what_the_kernels_cannot_run_is_said() -> None:
    config = FansConfig(STARTS, 60)
    assert cuda_backend.why_not(Fans(config), ONE_PASS) is None
    assert "64" in str(cuda_backend.why_not(Fans(replace(config, width=32)), ONE_PASS))
    assert "heads" in str(cuda_backend.why_not(Fans(replace(config, heads=16)), ONE_PASS))
    assert "autoregressive" in str(cuda_backend.why_not(Fans(config), AUTOREGRESSIVE))
    assert "recipe" in str(cuda_backend.why_not(build("popularity", {"category_starts": STARTS}), ONE_PASS))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_the_backend_says_so() -> None:
    assert driver.missing() == "torch sees no CUDA device"
    with pytest.raises(BadSetting, match="does not run on cpu"):
        open_engine(Fans(FansConfig(STARTS, 60)), STARTS[-1], "cpu", backend="cuda")


def model_of(kind: str) -> Any:
    name, values = KINDS[kind]
    torch.manual_seed(0)
    model = build(name, SIZES | values).eval()
    torch.nn.init.normal_(model.embed.positions.weight)  # far apart, so that positions differ
    with torch.no_grad():
        model.classifier.items.weight.mul_(10)  # so that scores differ by much more than the tolerance
    return model


def lists(count: int) -> tuple[list[np.ndarray], list[int]]:
    random = np.random.default_rng(0)
    inputs = [random.integers(1000, size=random.integers(0, 40)) for _ in range(count)]
    return inputs, random.integers(1, 40, size=count).tolist()


@gpu
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_item_of_the_gpu_is_right_by_float64_within_fp16(kind: str, rules: Rules) -> None:
    model = model_of(kind)
    double = copy.deepcopy(model).double()
    engine = open_engine(model.cuda(), 1000, "cuda", backend="cuda")
    inputs, wanted = lists(200 if engine.generation == ONE_PASS else 40)  # every step is judged by a pass of its own
    assert engine.backend == "cuda"
    answers = engine.continue_lists(inputs, wanted, rules)
    assert faults(double, engine.generation, inputs, wanted, rules, answers, FP16) == []


@gpu
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_list_alone_gets_the_items_it_gets_in_a_batch(kind: str, rules: Rules) -> None:
    inputs, wanted = lists(50)
    engine = open_engine(model_of(kind).cuda(), 1000, "cuda", backend="cuda")
    together = engine.continue_lists(inputs, wanted, rules)
    alone = [engine.continue_lists([given], k, rules)[0] for given, k in zip(inputs, wanted, strict=True)]
    assert [one.items.tolist() for one in alone] == [many.items.tolist() for many in together]


@pytest.mark.parametrize("kind", KINDS)
def test_fp16_tolerance_accepts_rounded_weights_and_no_wrong_item(kind: str) -> None:
    """Tries the judge where there is no GPU: weights rounded to fp16 stand in for the kernels."""
    model = model_of(kind)
    double = copy.deepcopy(model).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.half().float())
    inputs, wanted = lists(8)
    engine = TorchEngine(model, 1000)
    answers = engine.continue_lists(inputs, wanted, Rules())
    assert faults(double, engine.generation, inputs, wanted, Rules(), answers, FP16) == []
    given, first = inputs[0], answers[0]
    assert len(given) and len(first.items) > 1
    for item in (given[0], first.items[1], (first.items[0] + 1) % 1000):  # not allowed, twice, no tie
        wrong = first._replace(items=np.array([item, *first.items[1:]]))
        assert faults(double, engine.generation, [given], wanted[:1], Rules(), [wrong], FP16) != []
