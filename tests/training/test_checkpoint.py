from pathlib import Path

import pytest
import torch
from torch import nn

from fansrec.errors import BadArtifact
from fansrec.training import checkpoint
from fansrec.training.checkpoint import Counters
from fansrec.training.curriculum import Progress


def trained(steps: int) -> tuple[nn.Module, torch.optim.Adam]:
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1, fused=True)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(1, 3)).square().sum().backward()
        optimizer.step()
    return model, optimizer


COUNTERS = Counters(
    epoch=3,
    batch=2,
    step=17,
    loss=1 / 3,
    category_hits=5.0,
    positions=7.0,
    progress=Progress(step=1, epoch_in_step=2, best=0.1 + 0.2, waited=1),
    history=[{"epoch": 0, "loss": 0.1, "category_accuracy": None}],
)


def test_checkpoint_restores_everything_exactly(tmp_path: Path) -> None:
    model, optimizer = trained(5)
    best = {"weight": torch.full((2, 3), 0.1), "bias": torch.zeros(2)}
    average = {"bias": torch.ones(2)}
    checkpoint.save(tmp_path, model, optimizer, {"best": best, "average": average}, COUNTERS)
    other, its_optimizer = trained(1)
    loaded, counters = checkpoint.load(tmp_path, other, its_optimizer)
    assert counters == COUNTERS
    assert torch.equal(loaded["average"]["bias"], average["bias"])
    loaded = loaded["best"]
    assert all(torch.equal(loaded[name], best[name]) for name in best) and loaded.keys() == best.keys()
    for mine, yours in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, yours)
        for key in ("step", "exp_avg", "exp_avg_sq"):
            assert torch.equal(optimizer.state[mine][key], its_optimizer.state[yours][key])


def test_restored_optimizer_makes_the_same_next_step(tmp_path: Path) -> None:
    model, optimizer = trained(5)
    checkpoint.save(tmp_path, model, optimizer, {}, Counters())
    other, its_optimizer = trained(1)
    checkpoint.load(tmp_path, other, its_optimizer)
    its_optimizer.zero_grad()
    other(torch.ones(1, 3)).square().sum().backward()
    its_optimizer.step()
    assert all(torch.equal(a, b) for a, b in zip(trained(6)[0].parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize("at", [0, 8, 40, -1])
def test_truncated_checkpoint_is_refused_with_advice(tmp_path: Path, at: int) -> None:
    model, optimizer = trained(1)
    checkpoint.save(tmp_path, model, optimizer, {}, Counters())
    path = tmp_path / checkpoint.FILE
    path.write_bytes(path.read_bytes()[:at])
    with pytest.raises(BadArtifact, match="cannot be read .*; start the training again"):
        checkpoint.load(tmp_path, model, optimizer)


def test_checkpoint_of_another_model_is_refused(tmp_path: Path) -> None:
    model, optimizer = trained(1)
    checkpoint.save(tmp_path, model, optimizer, {}, Counters())
    other = nn.Linear(4, 2)
    with pytest.raises(BadArtifact, match="cannot be read"):
        checkpoint.load(tmp_path, other, torch.optim.Adam(other.parameters()))


def test_other_safetensors_file_is_refused(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    model, optimizer = trained(1)
    save_file({"x": torch.zeros(1)}, tmp_path / checkpoint.FILE)
    with pytest.raises(BadArtifact, match="cannot be read"):
        checkpoint.load(tmp_path, model, optimizer)
