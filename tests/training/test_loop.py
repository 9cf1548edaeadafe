"""Steps of the training loop: limited gradients, and figures that are read later."""

from pathlib import Path
from typing import Any

import pytest
import torch

from fansrec.errors import BadSetting, Interrupted
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


def later(folder: Path, monkeypatch: pytest.MonkeyPatch, most_unread: int) -> Loop:
    """Return a loop that reads the figures of several batches at once."""
    (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr("fansrec.training.loop.MOST_SECONDS", 1e9)
    loop = loop_of(folder, epochs=2)
    loop.most_unread = most_unread
    return loop


def history_of(loop: Loop) -> list[dict[str, Any]]:
    history, _ = loop.train()
    return [{name: value for name, value in row.items() if name != "seconds"} for row in history]


def test_figures_that_are_read_later_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loops = [later(tmp_path / str(most), monkeypatch, most) for most in (1, 3)]
    assert len(loops[0].batches) % 3, "an epoch should end with batches whose figures are not read"
    assert history_of(loops[0]) == history_of(loops[1])


def test_training_stopped_before_figures_are_read_resumes_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = later(tmp_path / "stopped", monkeypatch, 3)
    asked = iter([False, False, False, False, True])
    stopped.stop_requested = lambda: next(asked)
    with pytest.raises(Interrupted):
        stopped.train()
    assert stopped.counters.batch % 3 and not stopped.unread
    resumed, whole = (later(tmp_path / name, monkeypatch, 3) for name in ("stopped", "whole"))
    assert history_of(resumed) == history_of(whole)


def test_nan_loss_is_reported_when_figures_are_read_later(tmp_path: Path) -> None:
    loop = loop_of(tmp_path, epochs=1)
    loop.most_unread = 1000
    with torch.no_grad():
        next(loop.network.parameters()).fill_(float("nan"))
    with pytest.raises(BadSetting, match="the loss became nan in epoch 1"):
        loop.train()
