"""What a caller allows in an answer, in item indices."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fansrec.engine.traits import ItemTraits
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
    diversity: float = 0.0  # 0 to 1
    popularity: float = 0.0  # -1, for niche items, to 1, for popular ones
    freshness: float = 0.0  # 0 to 1, for items with a late date
    traits: ItemTraits | None = field(default=None, repr=False)  # what the three settings above need
    reranks: bool = field(init=False, default=False, repr=False)  # whether one of them is not 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "exclude", tuple(self.exclude))  # copies: engines cache what they derive from rules
        object.__setattr__(self, "allow", None if self.allow is None else tuple(self.allow))
        if self.max_per_group is not None and self.max_per_group < 1:
            raise BadSetting(f"--max-per-group is {self.max_per_group}; it must be at least 1")
        if self.max_per_group is not None and self.groups is None:
            raise BadSetting("--max-per-group needs groups, and the items of this model have none; prepare with groups")
        if self.fill not in FILLS:
            raise BadSetting(f"--fill is {self.fill!r}; it can be by-position, depth-first or arranged")
        object.__setattr__(self, "reranks", bool(self.diversity or self.popularity or self.freshness))
        if self.reranks:
            self._check_controls()

    def _check_controls(self) -> None:
        """Raise BadSetting if a setting of re-ranking is out of its range, or needs what the items do not have."""
        for name, lowest in (("diversity", 0), ("popularity", -1), ("freshness", 0)):
            if not lowest <= (value := getattr(self, name)) <= 1:  # false for NaN too
                raise BadSetting(f"--{name} is {value}; it must be from {lowest} to 1")
        if self.traits is None:
            raise BadSetting("--diversity, --popularity and --freshness need traits of the items; give them to Rules")
        if self.popularity and self.traits.popularity is None:
            raise BadSetting(
                "--popularity needs the number of training lists of each item, which this model lacks; train it again"
            )
        if self.freshness and self.traits.days is None:
            raise BadSetting(
                "--freshness needs dates of items, and the items of this model have none; prepare with dates"
            )
