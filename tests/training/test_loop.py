"""Steps of the training loop: batches that another thread builds, and limited gradients."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fansrec.models.tokens import Batch
from fansrec.training.batches import epoch_plan
from fansrec.training.loop import Loop
from fansrec.training.plan import make_plan
from fansrec.training.reporting import Reporter
from worlds import MINUTE, walks

CORPUS = walks()
LISTS = CORPUS.part("train")


def loop_of(folder: Path, **settings: Any) -> Loop:
    plan = make_plan("fans", MINUTE | {"batch_size": 20} | settings, CORPUS)
    torch.manual_seed(0)
    loop = Loop(plan, CORPUS, folder, plan.build(), Reporter(), lambda: False)
    loop.wrapped = loop.network
    return loop


def same(one: Batch, other: Batch) -> bool:
    pairs = [(one.labels, other.labels), (one.label_positions, other.label_positions)]
    pairs += [(a.items, b.items) for a, b in zip(one.chunks, other.chunks, strict=True)]
    return all(torch.equal(*pair) for pair in pairs)


@pytest.mark.parametrize("done", [0, 3, 5])
def test_remaining_batches_are_those_that_are_built_directly(done: int, tmp_path: Path) -> None:
    loop = loop_of(tmp_path)
    plan = epoch_plan(LISTS, 20, [0, 0, 0])
    loop.counters.batch = done
    built = list(loop._built(plan))
    assert [number for number, _ in built] == list(range(done, len(plan)))
    for number, batch in built:
        assert same(batch, loop.builder.build(plan[number], 0.5, [0, 1, 0, number]))  # the first of two steps


def test_batches_are_built_in_one_other_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop, threads = loop_of(tmp_path), set()
    build = loop.builder.build

    def watched(*arguments: Any) -> Batch:
        threads.add(threading.get_ident())
        return build(*arguments)

    monkeypatch.setattr(loop.builder, "build", watched)
    assert len(list(loop._built(epoch_plan(LISTS, 20, [0])))) == 5
    assert len(threads) == 1 and threading.get_ident() not in threads


def test_error_while_a_batch_is_built_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loop, plan = loop_of(tmp_path), epoch_plan(LISTS, 20, [0])
    build = loop.builder.build

    def broken(lists: np.ndarray, *arguments: Any) -> Batch:
        if lists is plan[2]:
            raise OSError("the disk is gone")
        return build(lists, *arguments)

    monkeypatch.setattr(loop.builder, "build", broken)
    batches = loop._built(plan)
    assert [next(batches)[0], next(batches)[0]] == [0, 1]
    with pytest.raises(OSError, match="the disk is gone"):
        next(batches)


def gradients(folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> list[torch.Tensor]:
    """Return the gradients of the first optimizer step."""
    loop, seen = loop_of(folder, dropout=0.0, **settings), []

    def step() -> None:
        seen.extend(parameter.grad.clone() for parameter in loop.network.parameters() if parameter.grad is not None)

    monkeypatch.setattr(loop.optimizer, "step", step)
    loop._step(loop.builder.build(LISTS[:20], 1.0, [0]))
    return seen


def length(gradients: list[torch.Tensor]) -> float:
    return float(torch.stack([gradient.norm() for gradient in gradients]).norm())


def test_long_gradients_are_shortened_to_gradient_norm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = gradients(tmp_path, monkeypatch)
    assert length(whole) > 0.01
    short = gradients(tmp_path, monkeypatch, gradient_norm=0.01)
    assert length(short) == pytest.approx(0.01, rel=1e-3)
    for one, other in zip(short, whole, strict=True):  # in the same direction
        torch.testing.assert_close(one * length(whole), other * length(short), rtol=1e-3, atol=1e-7)


def test_short_gradients_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = gradients(tmp_path, monkeypatch)
    for one, other in zip(gradients(tmp_path, monkeypatch, gradient_norm=1e6), whole, strict=True):
        torch.testing.assert_close(one, other)
