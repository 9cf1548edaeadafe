"""Where a model runs, checked before the work begins."""

from typing import Literal

from fansrec.errors import BadSetting

Backend = Literal["auto", "torch", "native", "cuda"]


def usable_device(name: str | None) -> str:
    """The device asked for, or a GPU if there is one, else the CPU."""
    import torch

    if name is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=name).cpu()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise BadSetting(f"there is no device {name} here; leave --device out, or give cpu") from error
    return name
