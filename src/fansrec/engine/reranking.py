"""Re-ranking by diversity, popularity and freshness: one implementation for the engines of all backends.

An engine is asked for more items than requested, and the answer is selected from these candidates one by one, by
maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fansrec.engine.interface import Continuation, Engine, Inputs, requested_counts
from fansrec.engine.modes import ONE_PASS
from fansrec.engine.rules import Rules
from fansrec.engine.traits import ItemTraits, Values
from fansrec.errors import BadArtifact, BadSetting

CANDIDATES = 4  # for each requested item
ARRANGED = "arranged"  # the fill that orders items when they are selected


def rerank(engine: Engine, inputs: Inputs, k: int | Sequence[int], rules: Rules) -> list[Continuation]:
    """Return what `engine.continue_lists` is to return under rules that re-rank answers."""
    traits = rules.traits
    assert traits is not None  # Rules has checked it
    if traits.items != engine.items:
        raise BadSetting(f"there are traits of {traits.items} items for {engine.items} items; use those of this model")
    counts = requested_counts(inputs, k, engine.items, engine.model.longest_sequence())
    plain = replace(rules, diversity=0.0, popularity=0.0, freshness=0.0)
    by_place = replace(plain, fill="by-position") if plain.fill == ARRANGED else plain
    pools = _candidates(engine, inputs, counts, by_place)
    answers = [_select(pool, count, rules, traits) for pool, count in zip(pools, counts, strict=True)]
    if rules.fill == ARRANGED:
        return [_arranged(engine, given, answer, plain) for given, answer in zip(inputs, answers, strict=True)]
    return answers


def _candidates(engine: Engine, inputs: Inputs, counts: list[int], rules: Rules) -> list[Continuation]:
    """Return for each list the items that the engine would answer first, CANDIDATES times as many as requested."""
    if engine.generation == ONE_PASS:
        firsts = engine.continue_lists(inputs, counts, rules)
        return [_more(engine, *some, rules) for some in zip(inputs, counts, firsts, strict=True)]
    longest = engine.model.longest_sequence()
    room = [engine.items if longest is None else longest - len(given) for given in inputs]
    return engine.continue_lists(inputs, [min(CANDIDATES * n, r) for n, r in zip(counts, room, strict=True)], rules)


def _more(engine: Engine, given: NDArray[np.int64], count: int, first: Continuation, rules: Rules) -> Continuation:
    """Return the first answer to a list, and behind it those that it would get if the ones before were excluded.

    The number of positions stays that of the request: the scores of one pass depend on it.
    """
    answers = [first]
    for _ in range(CANDIDATES - 1):
        if len(answers[-1].items) < count:
            break
        excluded = [item for answer in answers for item in answer.items.tolist()]
        try:
            answers += engine.continue_lists([given], count, replace(rules, exclude=(*rules.exclude, *excluded)))
        except BadArtifact:  # the model never recommends the items that are left
            break
    return Continuation(*map(np.concatenate, zip(*answers, strict=True)))


def _arranged(engine: Engine, given: NDArray[np.int64], answer: Continuation, rules: Rules) -> Continuation:
    """Return the items of an answer in the order in which the model expects them."""
    if not len(answer.items):
        return answer
    allowed = replace(rules, allow=answer.items.tolist())
    return engine.continue_lists([given], len(answer.items), allowed)[0]


def _select(pool: Continuation, count: int, rules: Rules, traits: ItemTraits) -> Continuation:
    """Return `count` of the candidates; items keep their scores.

    There are always enough: the first candidates are an answer under the rules, and any selection within a limit per
    group can be extended to the size of any other one.
    """
    items, groups = pool.items, rules.groups if rules.max_per_group is not None else None
    left = (1 - rules.diversity) * _relevance(items, rules, traits)  # -inf for items that may not be selected any more
    similar, highest = traits.similarities(items) if rules.diversity else None, np.zeros(len(items))
    selected: list[int] = []
    for _ in range(min(count, len(items))):
        best = int((left - rules.diversity * highest).argmax())
        if left[best] == -np.inf:
            break
        selected.append(best)
        left[best] = -np.inf
        if similar is not None:
            np.maximum(highest, similar(best), out=highest)
        if groups is not None and np.sum(groups[items[selected]] == groups[items[best]]) == rules.max_per_group:
            left[groups[items] == groups[items[best]]] = -np.inf
    return Continuation(items[selected], pool.scores[selected], pool.categories[selected])


def _relevance(items: NDArray[np.int64], rules: Rules, traits: ItemTraits) -> Values:
    """Return how much each candidate is preferred, before diversity, 0 to 1 for each of its parts.

    The model's part is the discount of a place by DCG, since the scores of different models and positions have no
    common scale. It loses weight as the others gain it.
    """
    relevance = (1 - max(abs(rules.popularity), rules.freshness)) / np.log2(2 + np.arange(len(items)))
    if rules.popularity:
        assert traits.popularity is not None
        popular = _scaled(traits.popularity[items])
        relevance += abs(rules.popularity) * (popular if rules.popularity > 0 else 1 - popular)
    if rules.freshness:
        assert traits.days is not None
        relevance += rules.freshness * _scaled(_date_ranks(traits.days[items]))
    return relevance


def _scaled(values: Values) -> Values:
    """Return values as a share of the way from the lowest to the highest one."""
    if not len(values):
        return values
    lowest = values.min()
    scaled: Values = (values - lowest) / max(float(values.max() - lowest), 1e-30)
    return scaled


def _date_ranks(days: Values) -> Values:
    """Return the place of each date in the order of the different ones; items without a date are the oldest."""
    dated = np.where(np.isnan(days), -np.inf, days)
    return np.unique(dated, return_inverse=True)[1].astype(np.float64)
