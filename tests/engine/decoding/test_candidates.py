"""Candidates from shortlists and from full rows of scores give the same selection."""

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from engine.decoding.cases import by_position, from_candidates
from fansrec.engine.decoding.candidates import ScoreCandidates
from fansrec.engine.decoding.limits import NONE, Limits
from fansrec.engine.generation import repeat_first
from fansrec.models.contract import GivesShortlists

ITEMS = 12


@dataclass
class Table:
    """Scores of every position at every rank, as full rows or as shortlists."""

    scores: Tensor  # (ranks, B, K, M)

    def __call__(self, first: int, last: int, rank: int) -> Tensor:
        return self.scores[rank][:, first:last]

    def rows(self, first: int, last: int, rank: int) -> Tensor:
        return self(first, last, rank)

    def best(self, first: int, last: int, rank: int, count: int, blocked: Tensor | None) -> tuple[Tensor, Tensor]:
        rows = self(first, last, rank)
        rows = rows if blocked is None else rows.masked_fill(blocked[:, None], -torch.inf)
        best = rows.topk(min(count, rows.shape[2]), dim=2)
        return best.values, best.indices


def table(seed: int, lists: int, positions: int, ranks: int) -> Table:
    """Return scores that are all different; each rank scores its own share of the items, as categories do."""
    random = torch.Generator().manual_seed(seed)
    count = lists * positions * ITEMS
    scores = torch.randperm(count, generator=random).view(lists, positions, ITEMS) / count
    owner = torch.randint(ranks, (lists, positions, ITEMS), generator=random)
    return Table(torch.stack([scores.masked_fill(owner != rank, -torch.inf) for rank in range(ranks)]))


@given(
    seed=st.integers(0, 10**6),
    counts=st.lists(st.integers(1, 8), min_size=1, max_size=4),
    ranks=st.integers(1, 4),
    blocked=st.floats(0, 1),
    floor=st.none() | st.floats(0, 1),
)
@settings(max_examples=150, deadline=None)
def test_shortlists_give_the_selection_of_full_rows(
    seed: int, counts: list[int], ranks: int, blocked: float, floor: float | None
) -> None:
    scores = table(seed, len(counts), max(counts), ranks)
    blocked_items = torch.rand(len(counts), ITEMS, generator=torch.Generator().manual_seed(seed)) < blocked
    limits = Limits(blocked=blocked_items, counts=torch.tensor(counts), min_score=floor)
    assert isinstance(scores, GivesShortlists) and not isinstance(scores.rows, GivesShortlists)
    full, short = by_position(scores.rows, ranks, limits), by_position(scores, ranks, limits)
    assert torch.equal(full.items, short.items)
    assert torch.equal(full.scores, short.scores)


@given(seed=st.integers(0, 10**6), counts=st.lists(st.integers(1, 8), min_size=1, max_size=4), ranks=st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_repeated_candidates_equal_repeated_scores(seed: int, counts: list[int], ranks: int) -> None:
    scores = table(seed, len(counts), 1, ranks)
    limits = Limits(blocked=torch.zeros(len(counts), ITEMS, dtype=torch.bool), counts=torch.tensor(counts))
    candidates = ScoreCandidates(scores, ranks, limits, repeat_first=True)
    repeated = by_position(repeat_first(scores), ranks, limits)
    assert torch.equal(from_candidates(candidates, limits).items, repeated.items)


def test_no_item_is_selected_if_all_are_blocked() -> None:
    limits = Limits(blocked=torch.ones(1, ITEMS, dtype=torch.bool), counts=torch.tensor([3]))
    assert by_position(table(0, 1, 3, 2), 2, limits).items.tolist() == [[NONE] * 3]


@pytest.mark.parametrize("positions", [1, 12])
def test_all_items_can_be_requested(positions: int) -> None:
    limits = Limits(blocked=torch.zeros(1, ITEMS, dtype=torch.bool), counts=torch.tensor([positions]))
    answer = by_position(table(1, 1, positions, 3), 3, limits).items
    assert len(set(answer.flatten().tolist())) == positions
