"""Plain functions as Ray tasks."""

from collections.abc import Callable
from functools import cache
from typing import Any

import ray


def task(function: Callable[..., Any], *arguments: Any) -> ray.ObjectRef:
    """Run a function on the cluster; return a reference to its result."""
    return _remote(function).remote(*arguments)


def task_of_parts(parts: int, function: Callable[..., tuple[Any, ...]], *arguments: Any) -> list[ray.ObjectRef]:
    """Run a function that returns a tuple of `parts` values; return a reference to each of them."""
    if parts == 1:  # Ray would take the tuple for the one value
        return [_remote(_first).remote(function, *arguments)]
    references: list[ray.ObjectRef] = _remote(function).options(num_returns=parts).remote(*arguments)
    return references


def cores() -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


@cache
def _remote(function: Callable[..., Any]) -> Any:
    return ray.remote(function)


def _first(function: Callable[..., tuple[Any, ...]], *arguments: Any) -> Any:
    return function(*arguments)[0]
