"""Evaluation protocols: how a model is run on test lists, and how its answers are scored."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.data.corpus import Corpus, target_lengths
from fansrec.data.shards import Items
from fansrec.engine.interface import Engine
from fansrec.engine.modes import ONE_PASS
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting
from fansrec.evaluation.metrics import (
    PAPER,
    STANDARD,
    Floats,
    average_precision,
    counted,
    distinct_lengths,
    hit_ratio,
    hits,
    ideal_lengths,
    ndcg,
    novelty,
    precision,
    recall,
    reciprocal_rank,
)

CUTOFFS = (5, 10)
MAX_CUTOFF = 10  # items that answers have and metrics look at, unless metrics at a later position are requested
METRICS = ("NDCG@5", "HR@5", "NDCG@10", "HR@10")
QUALITY = ("NDCG", "HR", "recall", "precision", "MAP", "MRR")  # metrics of which more is better


@dataclass(frozen=True)
class Protocol:
    """`paper` masks as many positions as the target has and keeps the input's items; `standard` masks 10 without."""

    name: str = PAPER
    input: str = "kept"  # or "excluded"
    masks: str = "target"  # or a number, "10" unless metrics at a later position are requested
    given: int | None = None  # items of the input that a model is given; None: all of them


def protocol(
    name: str, input: str | None = None, masks: str | None = None, given: int | None = None, most: int = MAX_CUTOFF
) -> Protocol:
    """Return a protocol by name; `input` and `masks` override its defaults.

    `most` is the last position that a metric looks at. `standard` requests that many items if it is above 10.
    """
    items = str(max(MAX_CUTOFF, most))
    defaults = {PAPER: ("kept", "target"), STANDARD: ("excluded", items)}
    if name not in defaults:
        raise BadSetting(f"there is no protocol {name!r}; choose {PAPER} or {STANDARD}")
    if given is not None and given < 1:
        raise BadSetting(f"{given} given items are too few; give a model at least 1")
    if masks not in (None, "target", str(MAX_CUTOFF)):
        raise BadSetting(f"--masks is {masks!r}; it can be target or {MAX_CUTOFF}")
    if masks == str(MAX_CUTOFF) != items:
        raise BadSetting(f"--masks {masks} requests too few items for metrics at {most}; leave it out")
    return Protocol(name, input or defaults[name][0], masks or defaults[name][1], given)


@dataclass(frozen=True)
class EvaluationLists:
    """Lists cut in two: the input that a model continues, and the target, which is the real continuation."""

    inputs: list[NDArray[np.int64]]
    targets: list[NDArray[np.int32]]

    def every(self, step: int, first: int) -> "EvaluationLists":
        """Return every `step`-th list from `first` on."""
        return EvaluationLists(self.inputs[first::step], self.targets[first::step])


def evaluation_lists(corpus: Corpus, part: str, most: int | None = None) -> EvaluationLists:
    """Return the lists of a part of the corpus, or `most` evenly spaced ones if there are more."""
    return cut_lists(corpus.items, corpus.offsets, evenly_spaced(corpus.part(part), most))


def evenly_spaced(lists: NDArray[np.int64], most: int | None) -> NDArray[np.int64]:
    """Return `most` of the lists, or all if there are not more."""
    if most is not None and len(lists) > most:
        lists = lists[np.linspace(0, len(lists) - 1, most).astype(int)]
    return lists


def cut_lists(items: Items, offsets: NDArray[np.int64], chosen: NDArray[np.int64]) -> EvaluationLists:
    """Return the chosen lists, list i is `items[offsets[i]:offsets[i + 1]]`, as inputs and targets."""
    starts, ends = offsets[chosen], offsets[chosen + 1]
    cuts = ends - target_lengths(ends - starts)
    inputs = [items[start:cut].astype(np.int64) for start, cut in zip(starts.tolist(), cuts.tolist(), strict=True)]
    return EvaluationLists(inputs, [items[cut:end] for cut, end in zip(cuts.tolist(), ends.tolist(), strict=True)])


def shorten(lists: EvaluationLists, given: int) -> EvaluationLists:
    """Return the same lists and targets with only the last `given` items of each input, directly before the target.

    Shorter inputs stay whole. A model does not know the items that were left out: it may answer them, and they are
    not hits.
    """
    return EvaluationLists([items[-given:] for items in lists.inputs], lists.targets)


def predict(
    engine: Engine, lists: EvaluationLists, protocol: Protocol, rules: Rules | None = None, most: int = MAX_CUTOFF
) -> NDArray[np.int64]:
    """Return the first `most` items of every answer, (lists, most), -1 where an answer is shorter.

    `rules` are by default those of the protocol.
    """
    counts = answer_counts(lists, protocol)
    if engine.generation != ONE_PASS:  # later items do not change the first ones, and only those are scored
        counts = [min(count, most) for count in counts]
    answers = engine.continue_lists(lists.inputs, counts, rules or protocol_rules(protocol))
    return first_items([answer.items for answer in answers], most)


def answer_counts(lists: EvaluationLists, protocol: Protocol) -> list[int]:
    """Return how many items each answer is to have."""
    return [len(target) if protocol.masks == "target" else int(protocol.masks) for target in lists.targets]


def protocol_rules(protocol: Protocol, fill: str = Rules.fill) -> Rules:
    return Rules(keep_seen=protocol.input == "kept", fill=fill)


def first_items(rows: Sequence[NDArray[Any]], most: int = MAX_CUTOFF) -> NDArray[np.int64]:
    """Return the first items of each row as (rows, most), -1 where a row is shorter."""
    firsts = np.full((len(rows), most), -1, dtype=np.int64)
    for first, row in zip(firsts, rows, strict=True):
        first[: len(row)] = row[:most]
    return firsts


def list_metrics(
    answers: NDArray[np.int64], lists: EvaluationLists, protocol: Protocol, at: Sequence[int] = CUTOFFS
) -> dict[str, Floats]:
    """Return NDCG and HR of every list that counts, (lists that count,) by metric."""
    hit = hits(answers, lists.targets)
    values = {}
    for n in at:
        counts = counted(lists.targets, n, protocol.name)
        values[f"NDCG@{n}"] = ndcg(hit, n, ideal_lengths(lists.targets, n, protocol.name))[counts]
        values[f"HR@{n}"] = hit_ratio(hit, n)[counts]
    return values


def more_list_metrics(
    answers: NDArray[np.int64], lists: EvaluationLists, protocol: Protocol, at: Sequence[int], shares: Floats
) -> dict[str, Floats]:
    """Return the other metrics of every list that counts, (lists that count,) by metric; `shares` as in `novelty`."""
    hit, relevant = hits(answers, lists.targets), distinct_lengths(lists.targets)
    values = {}
    for n in at:
        counts = counted(lists.targets, n, protocol.name)
        values[f"recall@{n}"] = recall(hit, n, relevant)[counts]
        values[f"precision@{n}"] = precision(hit, n)[counts]
        values[f"MAP@{n}"] = average_precision(hit, n, relevant)[counts]
        values[f"MRR@{n}"] = reciprocal_rank(hit, n)[counts]
        values[f"novelty@{n}"] = novelty(answers, n, shares)[counts]
    return values


def cutoff(metric: str) -> int:
    """Return the last position that a metric looks at: 5 for NDCG@5."""
    return int(metric.rpartition("@")[2])


def mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else float("nan")
