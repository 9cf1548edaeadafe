"""Random scores and rules for the tests of decoding, and plain loops that give the right answers."""

from collections.abc import Callable

import numpy as np
import torch
from hypothesis import strategies as st

from fansrec.engine.decoding.candidates import Candidates, ScoreCandidates
from fansrec.engine.decoding.limits import Limits, Selection
from fansrec.engine.decoding.selection import select_by_position
from fansrec.engine.rules import Rules
from fansrec.models.contract import ScoreBlock

Decode = Callable[[ScoreBlock, int, Limits], Selection]
INF = float("inf")

seeds = st.integers(0, 2**32 - 1)


def by_position(scores: ScoreBlock, ranks: int, limits: Limits) -> Selection:
    return from_candidates(ScoreCandidates(scores, ranks, limits), limits)


def from_candidates(candidates: Candidates, limits: Limits) -> Selection:
    groups = None if limits.groups is None else limits.groups.numpy()
    rules = Rules(max_per_group=limits.max_per_group, min_score=limits.min_score, groups=groups)
    selector = select_by_position(candidates, limits.counts.tolist(), rules)
    return Selection(torch.from_numpy(selector.items), torch.from_numpy(selector.scores))


def block(scores: np.ndarray) -> ScoreBlock:
    """Return a block of scores (ranks, B, K, M)."""
    tensor = torch.from_numpy(np.asarray(scores, dtype=np.float32))
    return lambda first, last, rank: tensor[rank, :, first:last]


def limits(lists: int, items: int, counts: list[int] | int, **rules: object) -> Limits:
    blocked = torch.zeros(lists, items, dtype=torch.bool)
    for row, item in rules.pop("blocked", ()):  # type: ignore[attr-defined]
        blocked[row, item] = True
    requested = torch.tensor([counts] * lists if isinstance(counts, int) else counts)
    return Limits(blocked, requested, **rules)  # type: ignore[arg-type]


class Case:
    """Random scores, all of them different, and random rules."""

    def __init__(self, seed: int, ranks: int, groups: bool) -> None:
        random = np.random.default_rng(seed)
        lists, self.positions, items = random.integers(1, 5), int(random.integers(1, 7)), random.integers(1, 12)
        scores = random.permutation(ranks * lists * self.positions * items).astype(np.float32)
        self.scores = scores.reshape(ranks, lists, self.positions, items)
        if ranks > 1:  # every item has a category, every position its own order of categories
            category = random.integers(ranks, size=items)
            order = random.permuted(np.tile(np.arange(ranks), (lists, self.positions, 1)), axis=-1)
            for rank in range(ranks):
                self.scores[rank][category[None, None] != order[..., rank, None]] = -INF
        counts = random.integers(1, self.positions + 1, lists)
        self.positions = int(counts.max())
        self.limits = Limits(
            blocked=torch.from_numpy(random.random((lists, items)) < random.choice([0, 0.3])),
            counts=torch.from_numpy(counts),
            groups=torch.from_numpy(random.integers(0, 4, items)) if groups else None,
            max_per_group=int(random.integers(1, 4)) if groups else None,
            min_score=float(random.choice(scores)) if random.random() < 0.3 else None,
        )

    def allowed(self, row: int, taken: list[int], item: int, score: float) -> bool:
        rules = self.limits
        if rules.blocked[row, item] or item in taken or score == -INF:
            return False
        if rules.min_score is not None and score < rules.min_score:
            return False
        if rules.groups is None or rules.max_per_group is None:
            return True
        same = sum(int(rules.groups[other] == rules.groups[item]) for other in taken)
        return same < rules.max_per_group

    def lists(self) -> list[tuple[int, int]]:
        """Return each list and how many items it requests."""
        return [(row, int(count)) for row, count in enumerate(self.limits.counts)]


def slow_by_position(case: Case) -> list[list[int]]:
    """Rank after rank, position after position: the best item that is allowed."""
    answers = []
    for row, count in case.lists():
        answer = [-1] * case.positions
        for scores in case.scores[:, row]:
            for position in range(count):
                taken = [item for item in answer if item >= 0]
                fit = [i for i, score in enumerate(scores[position]) if case.allowed(row, taken, i, score)]
                if answer[position] < 0 and fit:
                    answer[position] = max(fit, key=lambda i: scores[position][i])
        answers.append(answer)
    return answers


def slow_depth_first(case: Case) -> list[list[int]]:
    """Rank after rank, depth after depth, position after position: that item of the position, if it is allowed."""
    answers = []
    for row, count in case.lists():
        answer: list[int] = []
        for scores in case.scores[:, row, :count]:
            left = [[i for i in np.argsort(-s) if case.allowed(row, answer, i, s[i])] for s in scores]
            for depth in range(scores.shape[1]):
                for position, items in enumerate(left):
                    if depth < len(items) and len(answer) < count:
                        item = int(items[depth])
                        answer += [item] if case.allowed(row, answer, item, scores[position][item]) else []
        answers.append(answer + [-1] * (case.positions - len(answer)))
    return answers
