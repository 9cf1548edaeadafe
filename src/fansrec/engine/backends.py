"""Which backend answers: the fastest that can run a model here, or the one asked for."""

from types import ModuleType

import torch

from fansrec.engine.generation import way_of
from fansrec.engine.interface import Engine, say_once
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadSetting
from fansrec.models.contract import ContinuationModel

BACKENDS = ("auto", "torch", "native", "cuda")
FAST = {"cpu": "native", "cuda": "cuda"}  # the one worth trying on each kind of device


def open_engine(
    model: ContinuationModel,
    items: int,
    device: torch.device | str = "cpu",
    generation: str | None = None,
    backend: str = "auto",
) -> Engine:
    """An engine around a model that is on `device`; `auto` falls back to torch, and says what is missing.

    `generation` is the model's own way unless told otherwise.
    """
    if backend not in BACKENDS:
        raise BadSetting(f"there is no backend {backend!r}; choose from {', '.join(BACKENDS)}")
    place, way = torch.device(device), way_of(model, generation)
    fast = FAST.get(place.type)
    if backend not in ("auto", "torch", fast):
        raise BadSetting(f"the {backend} backend does not run on {place.type}; choose another device or backend")
    if backend == "torch" or fast is None:
        return TorchEngine(model, items, place, way)
    module = _module(fast)
    missing = module.missing()
    reason = missing or module.why_not(model, way)
    if reason is None:
        try:
            engine: Engine = module.open_backend(model, items, way)
            return engine
        except (BadSetting, RuntimeError, OSError, AttributeError) as error:  # of drivers and devices nobody has tried
            missing = reason = f"the {fast} backend cannot be opened ({error})"
    if backend != "auto":
        raise BadSetting(f"the {fast} backend cannot run {model.name} here: {reason}")
    if missing or place.type == "cuda":
        say_once(f"{reason}; using plain torch, which is slower")
    return TorchEngine(model, items, place, way)


def _module(name: str) -> ModuleType:
    """A fast backend's module: it offers `missing()`, `why_not(model, generation)` and `open_backend(…)`."""
    if name == "native":
        from fansrec.engine.native import backend as native_backend

        return native_backend
    from fansrec.engine.cuda import backend as cuda_backend

    return cuda_backend
