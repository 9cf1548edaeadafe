"""What a caller allows in an answer, in item indices."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fansrec.errors import BadSetting

FILLS = ("by-position", "depth-first", "arranged")


@dataclass(frozen=True)
class Rules:
    """The restrictions on the answers to all lists of a call."""

    exclude: Sequence[int] = ()
    allow: Sequence[int] | None = None  # None: all items
    keep_seen: bool = False  # whether items of the input may be answered again
    max_per_group: int | None = None
    min_score: float | None = None
    fill: str = "by-position"  # or "depth-first", or "arranged": the same items in the order they are likely to have
    groups: NDArray[np.int64] | None = field(default=None, repr=False)  # (M,)
    allowed_by: tuple[str, ...] = ("allow",)  # the names of the rules that `allow` results from, for messages

    def __post_init__(self) -> None:
        object.__setattr__(self, "exclude", tuple(self.exclude))  # copies: engines cache what they derive from rules
        object.__setattr__(self, "allow", None if self.allow is None else tuple(self.allow))
        if self.max_per_group is not None and self.max_per_group < 1:
            raise BadSetting(f"--max-per-group is {self.max_per_group}; it must be at least 1")
        if self.max_per_group is not None and self.groups is None:
            raise BadSetting("--max-per-group needs groups, and the items of this model have none; prepare with groups")
        if self.fill not in FILLS:
            raise BadSetting(f"--fill is {self.fill!r}; it can be by-position, depth-first or arranged")
