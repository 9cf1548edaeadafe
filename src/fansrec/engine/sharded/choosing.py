"""What lists take from the shortlists of their positions where groups are limited; see `shortlists.HostChoice`."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from fansrec.engine.decoding.shortlists import HostChoice


class GroupedChoice(HostChoice):
    def __init__(
        self, wanted: list[int], min_score: float | None, groups: NDArray[np.int64], most_of_group: int
    ) -> None:
        super().__init__(wanted, min_score)
        self._groups, self._most = groups, most_of_group
        self._had: list[Counter[int]] = [Counter() for _ in wanted]

    def _take(self, row: int, position: int, scores: list[float], items: list[int]) -> None:
        free = [
            (score, item)
            for score, item in zip(scores, items, strict=True)
            if self._had[row][int(self._groups[item])] < self._most
        ]
        super()._take(row, position, [score for score, _ in free], [item for _, item in free])
        if (item := int(self.items[row, position])) >= 0:
            self._had[row][int(self._groups[item])] += 1
