"""Selection of a backend: the fastest one that can run a model here, or the one requested."""

from types import ModuleType

import torch

from fansrec.engine.generation import generation_mode
from fansrec.engine.interface import Engine, warn_once
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadSetting
from fansrec.models.contract import ContinuationModel

BACKENDS = ("auto", "torch", "native", "cuda")
FAST = {"cpu": "native", "cuda": "cuda"}  # the fastest backend of each kind of device


def open_engine(
    model: ContinuationModel,
    items: int,
    device: torch.device | str = "cpu",
    generation: str | None = None,
    backend: str = "auto",
) -> Engine:
    """Return an engine for a model that is on `device`; `auto` falls back to torch and logs why.

    `generation` is the generation mode, by default the model's own.
    """
    if backend not in BACKENDS:
        raise BadSetting(f"there is no backend {backend!r}; choose from {', '.join(BACKENDS)}")
    device, mode = torch.device(device), generation_mode(model, generation)
    fast = FAST.get(device.type)
    if backend not in ("auto", "torch", fast):
        raise BadSetting(f"the {backend} backend does not run on {device.type}; choose another device or backend")
    if backend == "torch" or fast is None:
        return TorchEngine(model, items, device, mode)
    module = _module(fast)
    missing = module.missing()
    reason = missing or module.why_not(model, mode)
    if reason is None and backend == "auto" and fast == "cuda":
        reason = module.why_not_automatically(model)
    if reason is None:
        try:
            engine: Engine = module.open_backend(model, items, mode)
            return engine
        except (BadSetting, OSError, RuntimeError) as error:
            if not _is_device_error(error):
                raise
            missing = reason = f"the {fast} backend cannot be opened ({error})"
    if backend != "auto":
        raise BadSetting(f"the {fast} backend cannot run {model.name} here: {reason}")
    if missing or device.type == "cuda":
        warn_once(f"{reason}; using plain torch, which is slower")
    return TorchEngine(model, items, device, mode)


def _module(name: str) -> ModuleType:
    """Return a fast backend's module, with `missing()`, `why_not(model, generation)` and `open_backend(…)`."""
    if name == "native":
        from fansrec.engine.native import backend as native_backend

        return native_backend
    from fansrec.engine.cuda import backend as cuda_backend

    return cuda_backend


def _is_device_error(error: Exception) -> bool:
    """Return whether a driver, a compiler or a device failed, rather than our own code.

    torch and the CUDA driver report their errors as RuntimeError with "CUDA" in the message. Any other RuntimeError,
    such as one about shapes, is a bug that a fallback would hide.
    """
    return isinstance(error, BadSetting | OSError) or "CUDA" in str(error)
