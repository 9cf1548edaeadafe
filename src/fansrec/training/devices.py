"""The device that a command or a call runs on."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from fansrec.errors import BadSetting, not_installed

ONLY_CPU = "ACCELERATE_USE_CPU"  # the environment variable with which accelerate uses no GPU


def usable_device(name: str | None) -> str:
    """Return the given device if it works here; without one, a GPU if there is one, else the CPU."""
    if name == "cpu":
        return name
    try:
        import torch
    except ModuleNotFoundError as error:
        if name is None or error.name != "torch":
            raise
        raise not_installed("torch", "gpu") from error
    if name is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=name).cpu()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise BadSetting(f"there is no device {name} here; leave out --device, or give cpu") from error
    return name


@contextmanager
def training_device(name: str | None) -> Iterator[None]:
    """Train on the given device inside the block; raise BadSetting if it does not work here. None changes nothing."""
    if name is None:
        yield
        return
    import torch
    from accelerate.state import AcceleratorState, PartialState

    device, before = torch.device(usable_device(name)), os.environ.get(ONLY_CPU)
    os.environ[ONLY_CPU] = "true" if device.type == "cpu" else "false"
    states = [AcceleratorState._shared_state, PartialState._shared_state]  # with the first device of the process
    saved = [dict(state) for state in states]
    for state in states:
        state.clear()
    try:
        with torch.cuda.device(device if device.type == "cuda" else -1):  # -1: no change
            yield
    finally:
        for state, values in zip(states, saved, strict=True):
            state.clear()
            state.update(values)
        if before is None:
            del os.environ[ONLY_CPU]
        else:
            os.environ[ONLY_CPU] = before
