"""Steps of the training loop: limited gradients, and figures that are read later."""

from pathlib import Path
from typing import Any

import pytest
import torch

from fansrec.errors import BadSetting
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


def gradients(folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> list[torch.Tensor]:
    """Return the gradients of the first optimizer step."""
    loop, seen = loop_of(folder, dropout=0.0, **settings), []

    def step() -> None:
        seen.extend(parameter.grad.clone() for parameter in loop.network.parameters() if parameter.grad is not None)

    monkeypatch.setattr(loop.optimizer, "step", step)
    loop._step(loop.batches.builder.build(LISTS[:20], 1.0, [0]))
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


def test_figures_that_are_read_later_are_the_same(tmp_path: Path) -> None:
    histories = []
    for most in (1, 3):
        folder = tmp_path / str(most)
        (folder / "checkpoints").mkdir(parents=True)
        loop = loop_of(folder, epochs=2)
        loop.most_unread = most
        history, _ = loop.train()
        histories.append([{name: value for name, value in row.items() if name != "seconds"} for row in history])
    assert len(loop.batches) % 3, "an epoch should end with batches whose figures are not read"
    assert histories[0] == histories[1]


def test_loss_that_is_no_number_is_reported_though_it_is_read_later(tmp_path: Path) -> None:
    loop = loop_of(tmp_path, epochs=1)
    loop.most_unread = 1000
    with torch.no_grad():
        next(loop.network.parameters()).fill_(float("nan"))
    with pytest.raises(BadSetting, match="the loss became nan in epoch 0"):
        loop.train()
