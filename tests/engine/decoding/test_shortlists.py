"""The quick way to an answer gives the very answers of the plain one."""

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fansrec.engine.decoding.dense import NONE, Limits, by_position
from fansrec.engine.decoding.shortlists import by_position_from_shortlists

ITEMS = 12


@dataclass
class Table:
    """Scores of every position at every rank, as rows or as the best few of each."""

    scores: Tensor  # (ranks, B, K, M)

    def __call__(self, first: int, last: int, rank: int) -> Tensor:
        return self.scores[rank][:, first:last]

    def best(self, first: int, last: int, rank: int, count: int, blocked: Tensor | None) -> tuple[Tensor, Tensor]:
        rows = self(first, last, rank)
        rows = rows if blocked is None else rows.masked_fill(blocked[:, None], -torch.inf)
        best = rows.topk(min(count, rows.shape[2]), dim=2)
        return best.values, best.indices


def table(seed: int, lists: int, positions: int, ranks: int) -> Table:
    """No two scores alike; each rank scores a share of the items of its own, as categories do."""
    random = torch.Generator().manual_seed(seed)
    count = lists * positions * ITEMS
    scores = torch.randperm(count, generator=random).view(lists, positions, ITEMS) / count
    owner = torch.randint(ranks, (lists, positions, ITEMS), generator=random)
    return Table(torch.stack([scores.masked_fill(owner != rank, -torch.inf) for rank in range(ranks)]))


@given(
    seed=st.integers(0, 10**6),
    wanted=st.lists(st.integers(1, 8), min_size=1, max_size=4),
    ranks=st.integers(1, 4),
    blocked=st.floats(0, 1),
    floor=st.none() | st.floats(0, 1),
)
@settings(max_examples=150, deadline=None)
def test_shortlists_give_the_answers_of_full_rows(
    seed: int, wanted: list[int], ranks: int, blocked: float, floor: float | None
) -> None:
    given_scores = table(seed, len(wanted), max(wanted), ranks)
    lot = torch.rand(len(wanted), ITEMS, generator=torch.Generator().manual_seed(seed)) < blocked
    limits = Limits(blocked=lot, wanted=torch.tensor(wanted), min_score=floor)
    plain, quick = by_position(given_scores, ranks, limits), by_position_from_shortlists(given_scores, ranks, limits)
    assert torch.equal(plain.items, quick.items)
    assert torch.equal(plain.scores, quick.scores)


def test_where_nothing_is_left_to_take_there_is_none() -> None:
    limits = Limits(blocked=torch.ones(1, ITEMS, dtype=torch.bool), wanted=torch.tensor([3]))
    assert by_position_from_shortlists(table(0, 1, 3, 2), 2, limits).items.tolist() == [[NONE] * 3]


@pytest.mark.parametrize("positions", [1, 12])
def test_as_many_as_there_are_items_can_be_asked_for(positions: int) -> None:
    limits = Limits(blocked=torch.zeros(1, ITEMS, dtype=torch.bool), wanted=torch.tensor([positions]))
    answer = by_position_from_shortlists(table(1, 1, positions, 3), 3, limits).items
    assert len(set(answer.flatten().tolist())) == positions
