"""The torch engine, for whatever the fast backends do not run; it is imported only then."""

from typing import Any

from fansrec.engine.interface import Engine
from fansrec.errors import needs_torch
from fansrec.models.contract import ContinuationModel
from fansrec.models.stored import StoredModel


def torch_engine(model: ContinuationModel | StoredModel, items: int, device: Any, generation: str, what: str) -> Engine:
    """Return the torch engine of a model; if torch is not installed, raise MissingExtra: `what` needs it."""
    try:
        from fansrec.engine.torch.backend import TorchEngine
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise needs_torch(what) from error
    return TorchEngine(on_device(model, device), items, str(device), generation)


def on_device(model: ContinuationModel | StoredModel, device: Any) -> Any:
    """Return a model as a torch module on a device."""
    module = model.module if isinstance(model, StoredModel) else model
    return module.to(device)
