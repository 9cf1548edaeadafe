"""The checkpoint of a training run, one safetensors file: a resumed run ends with the same bits.

It contains no random state: every draw is seeded by (seed, epoch, batch), so the counters are enough.
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
EXTRA_WEIGHTS = ("best", "average")  # the best weights of the curriculum step, and the moving average

ExtraWeights = dict[str, dict[str, Tensor]]


@dataclass
class Counters:
    """The state of a training run besides its weights."""

    epoch: int = 0
    batch: int = 0  # finished batches of this epoch
    step: int = 0  # optimizer steps so far
    loss: float = 0.0  # sums over this epoch's batches
    category_hits: float = 0.0
    positions: float = 0.0
    progress: Progress = field(default_factory=Progress)
    history: list[dict[str, Any]] = field(default_factory=list)


def save(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, extra: ExtraWeights, counters: Counters
) -> None:
    """Replace the last checkpoint; if writing fails, the last one stays as it is."""
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for name, parameter in model.named_parameters():
        tensors |= {f"adam.{key}.{name}": value for key, value in optimizer.state.get(parameter, {}).items()}
    tensors |= {f"{kind}.{name}": tensor for kind, weights in extra.items() for name, tensor in weights.items()}
    tensors = {name: tensor.contiguous().cpu() for name, tensor in tensors.items()}
    metadata = {"counters": json.dumps(asdict(counters))}
    try:
        write_atomically(folder / FILE, lambda path: save_file(tensors, path, metadata))
    except (OSError, SafetensorError) as error:
        full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
        reason = "the disk is full" if full else str(error)
        raise Unfinished(
            f"the checkpoint cannot be saved to {folder}: {reason}; the last checkpoint is intact, so free some space "
            "and continue with --resume"
        ) from error


def load(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[ExtraWeights, Counters]:
    """Restore model and optimizer; return the extra weights and the counters."""
    try:
        with safe_open(folder / FILE, "pt") as file:
            values = json.loads(file.metadata()["counters"])
            counters = replace(Counters(**values), progress=Progress(**values["progress"]))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        model.load_state_dict(_with_prefix(tensors, "model."))
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise BadArtifact(f"{folder / FILE} cannot be read ({error}); start the training again") from error
    for key in ("step", "exp_avg", "exp_avg_sq"):
        for name, parameter in model.named_parameters():
            if f"adam.{key}.{name}" in tensors:
                value = tensors[f"adam.{key}.{name}"]
                optimizer.state[parameter][key] = value if key == "step" else value.to(parameter.device)
    return {kind: _with_prefix(tensors, f"{kind}.") for kind in EXTRA_WEIGHTS}, counters


def _with_prefix(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
