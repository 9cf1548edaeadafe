"""The settings that the user gave, which the searches of the hybrid model do not change."""

from collections.abc import Mapping, Sequence
from typing import Any

from fansrec.training.plan import Plan


def disabled(weight: str, plan: Plan) -> bool:
    """Return whether the user gave a weight of 0."""
    return weight in plan.given and not plan.settings[weight]


def values_to_try(name: str, values: Sequence[float], plan: Plan) -> Sequence[float]:
    """Return the values of a setting to try: only the user's if one was given."""
    return (plan.settings[name],) if name in plan.given else values


def not_given(grids: Mapping[str, Sequence[Any]], plan: Plan) -> dict[str, Sequence[Any]]:
    """Return the grids of the settings that the user did not give."""
    return {name: grid for name, grid in grids.items() if name not in plan.given}
