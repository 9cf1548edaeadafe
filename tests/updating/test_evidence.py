"""The lists of new items, and the items that share lists with them."""

import numpy as np
import pytest

from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.updating import evidence
from fansrec.updating.evidence import gather
from fansrec.updating.memory import NAMES, Memory

LISTS = [[0, 1, 2], [2, 3], [4, 1], [5, 0, 2], [5]]


def memory() -> Memory:
    flat = np.concatenate(LISTS).astype(np.int32)
    learned = ListMemory.of(7, flat, np.cumsum([0, *map(len, LISTS)]))
    return Memory(*(getattr(learned, name).numpy() for name in NAMES))


@pytest.mark.parametrize("at_once", [1, 3, 1000])
def test_pairs_are_the_same_in_any_number_of_blocks(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(evidence, "PAIRS_AT_ONCE", at_once)
    rows, others, weights = gather(memory(), np.array([5, 6, 4]), [[], [2], []]).together
    assert [*zip(rows.tolist(), others.tolist(), strict=True)] == [
        (0, 0), (0, 2), (0, 5), (1, 0), (1, 1), (1, 2), (1, 3), (1, 5), (2, 1), (2, 4),
    ]  # fmt: skip
    assert weights[:3].tolist() == [1, 1, 2]
    assert weights[3:8] == pytest.approx(np.array([2, 1, 3, 1, 1]) * 0.5)
