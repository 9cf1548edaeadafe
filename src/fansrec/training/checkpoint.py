"""All that an interrupted run needs to go on and end with the same bits: one safetensors file.

No random state is kept: every draw is seeded by (seed, epoch, batch), so the counters are enough.
"""

import errno
import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from fansrec.errors import BadArtifact, Unfinished
from fansrec.files import write_atomically
from fansrec.training.curriculum import Progress

FOLDER = "checkpoints"
FILE = "state.safetensors"
PLAN = "plan.json"
KEPT = ("best", "average")  # weights beside the current ones: the best of the curriculum step, and the running average

Kept = dict[str, dict[str, Tensor]]


@dataclass
class Counters:
    """Where training stands."""

    epoch: int = 0
    batch: int = 0  # batches of this epoch that are done
    step: int = 0  # optimizer steps in all
    loss: float = 0.0  # sums over this epoch's batches
    category_hits: float = 0.0
    positions: float = 0.0
    progress: Progress = field(default_factory=Progress)
    history: list[dict[str, Any]] = field(default_factory=list)


def save(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, kept: Kept, counters: Counters) -> None:
    """Replace the last checkpoint; if the disk is full, the last one stays as it is."""
    tensors = _tensors(model, optimizer)
    tensors |= {f"{kind}.{name}": tensor for kind, some in kept.items() for name, tensor in some.items()}
    tensors = {name: tensor.contiguous().cpu() for name, tensor in tensors.items()}
    metadata = {"counters": json.dumps(asdict(counters))}
    try:
        write_atomically(folder / FILE, lambda path: save_file(tensors, path, metadata))
    except (OSError, SafetensorError) as error:
        full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
        reason = "the disk is full" if full else str(error)
        raise Unfinished(f"the state of training cannot be saved to {folder}: {reason}; the last state there is good, "
                          f"so make room and go on with --resume") from error  # fmt: skip


def _tensors(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"adam.{key}.{name}"] = value
    return tensors


def load(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[Kept, Counters]:
    """Put model and optimizer back where they stood; gives what else was kept, and the counters."""
    try:
        with safe_open(folder / FILE, "pt") as file:
            counters = _counters(json.loads(file.metadata()["counters"]))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        model.load_state_dict(_below(tensors, "model."))
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise BadArtifact(f"{folder / FILE} cannot be read ({error}); begin the training anew") from error
    for key in ("step", "exp_avg", "exp_avg_sq"):
        for name, parameter in model.named_parameters():
            if f"adam.{key}.{name}" in tensors:
                value = tensors[f"adam.{key}.{name}"]
                optimizer.state[parameter][key] = value if key == "step" else value.to(parameter.device)
    return {kind: _below(tensors, f"{kind}.") for kind in KEPT}, counters


def _below(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _counters(values: dict[str, Any]) -> Counters:
    return replace(Counters(**values), progress=Progress(**values["progress"]))
