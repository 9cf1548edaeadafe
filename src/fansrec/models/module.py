"""Torch modules from the settings and the weights of a file."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import init
from torch.overrides import TorchFunctionMode

from fansrec.models.outlines import Outline
from fansrec.models.registry import MODELS, build

RANDOM = (torch.Tensor.normal_, torch.Tensor.uniform_, init.normal_, init.uniform_, init.kaiming_uniform_)
TYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


def with_arrays(model: Callable[[Any], Any], config: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Return a model of a class with these weights, of which nothing is copied."""
    return with_weights(lambda: model(config), {name: torch.from_numpy(array) for name, array in arrays.items()})


def with_weights(make: Callable[[], Any], weights: Mapping[str, Tensor]) -> Any:
    """Return the model that `make` returns, ready for use, with these weights instead of its own."""
    with NoRandomStart():
        model = make()
    model.load_state_dict(weights, assign=True)
    model.train(False)
    return model


def outline_of(model: torch.nn.Module) -> Outline:
    """Return what a model's weights must look like; the model may be on the meta device."""
    state: Mapping[str, Tensor] = model.state_dict()
    return {name: (TYPES.get(w.dtype, str(w.dtype)), tuple(w.shape)) for name, w in state.items()}


def sketch(name: str, settings: dict[str, Any]) -> Any:
    """Return a model of the registry without memory for its weights."""
    with NoRandomStart():
        try:
            with torch.device("meta"):
                return build(name, settings)
        except RuntimeError:
            if name in MODELS:
                raise
            return build(name, settings)  # a model of another package may need real tensors


class NoRandomStart(TorchFunctionMode):
    """Skips the random initialization of weights that are about to be replaced, which would take most of the time."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in RANDOM:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)
