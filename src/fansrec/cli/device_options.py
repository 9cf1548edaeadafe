"""The options that say where a model runs, and their check before the work begins."""

from typing import Annotated, Literal

import typer

from fansrec.errors import BadSetting

Backend = Literal["auto", "torch", "native", "cuda"]
DEFAULT_DEVICE = "a GPU if there is one, else cpu"
Device = Annotated[str | None, typer.Option(help="Device to run on: cpu, cuda, …", show_default=DEFAULT_DEVICE)]


def usable_device(name: str | None) -> str:
    """Return the given device if it works here; without one, a GPU if there is one, else the CPU."""
    import torch

    if name is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=name).cpu()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise BadSetting(f"there is no device {name} here; leave out --device, or give cpu") from error
    return name
