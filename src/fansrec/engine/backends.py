"""Selection of a backend: the fastest one that can run a model here, or the one requested."""

from types import ModuleType
from typing import Any

from fansrec.engine.interface import Engine, warn_once
from fansrec.engine.modes import generation_mode
from fansrec.engine.reference import on_device, torch_engine
from fansrec.errors import BadSetting
from fansrec.models.contract import ContinuationModel
from fansrec.models.stored import StoredModel

BACKENDS = ("auto", "torch", "native", "cuda")
FAST = {"cpu": "native", "cuda": "cuda"}  # the fastest backend of each kind of device


def open_engine(
    model: ContinuationModel | StoredModel,
    items: int,
    device: Any = "cpu",
    generation: str | None = None,
    backend: str = "auto",
) -> Engine:
    """Return an engine for a model on a device; `auto` falls back to torch and logs why.

    A torch module is moved to the device. `generation` is the generation mode, by default the model's own.
    """
    if backend not in BACKENDS:
        raise BadSetting(f"there is no --backend {backend!r}; choose from {', '.join(BACKENDS)}")
    kind, mode = str(device).partition(":")[0], generation_mode(model, generation)
    fast = FAST.get(kind)
    if backend not in ("auto", "torch", fast):
        raise BadSetting(f"the {backend} backend does not run on {kind}; choose another --device, or --backend auto")
    if backend == "torch" or fast is None:
        return torch_engine(model, items, device, mode, f"the {backend} backend")
    if fast != "native":
        model = on_device(model, device)
    module = _module(fast)
    missing = module.missing()
    reason = missing or module.why_not(model, mode)
    if reason is None:
        try:
            engine: Engine = module.open_backend(model, items, mode)
            return engine
        except (BadSetting, OSError, RuntimeError) as error:
            if not _is_device_error(error):
                raise
            missing = reason = f"the {fast} backend cannot be opened ({error})"
    if backend != "auto":
        raise BadSetting(f"the {fast} backend cannot run {model.name} here: {reason}; choose --backend torch or auto")
    engine = torch_engine(model, items, device, mode, f"{reason}: the model")
    if missing or kind == "cuda":
        warn_once(f"{reason}; using plain torch, which is slower")
    return engine


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
