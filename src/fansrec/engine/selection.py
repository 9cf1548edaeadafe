"""Which backend answers: the fastest that can run a model here, or the one asked for."""

import logging
from functools import cache
from importlib import import_module
from types import ModuleType

import torch

from fansrec.engine.answers import Engine
from fansrec.engine.generation import way_of
from fansrec.engine.torch_backend import TorchEngine
from fansrec.errors import BadSetting
from fansrec.models.contract import ContinuationModel

BACKENDS = ("auto", "torch", "native", "cuda")
FAST: dict[str, str] = {}  # the one worth trying on each kind of device

log = logging.getLogger("fansrec")


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
    place = torch.device(device)
    name = FAST.get(place.type, "torch") if backend == "auto" else backend
    if name == "torch":
        return TorchEngine(model, items, place, generation)
    if backend != "auto" and FAST.get(place.type) != backend:
        raise BadSetting(f"the {backend} backend cannot run on {place.type}; use --device or another --backend")
    module = _module(name)
    if (missing := module.missing()) is not None:
        if backend != "auto":
            raise BadSetting(f"the {name} backend cannot run here: {missing}")
        _say_once(f"{missing}; using plain torch, which is slower")
        return TorchEngine(model, items, place, generation)
    way = way_of(model, generation)
    if (reason := module.why_not(model, way)) is not None:
        if backend != "auto":
            raise BadSetting(f"the {name} backend cannot run {model.name}: {reason}")
        return TorchEngine(model, items, place, generation)
    engine: Engine = module.open_backend(model, items, way)
    return engine


def _module(name: str) -> ModuleType:
    """A fast backend's module: it offers `missing()`, `why_not(model, generation)` and `open_backend(…)`."""
    return import_module(f"fansrec.engine.{name}_backend")


@cache
def _say_once(message: str) -> None:
    log.warning(message)
