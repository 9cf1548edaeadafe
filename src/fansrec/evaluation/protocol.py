"""How a model is asked and judged: the paper's way, and the usual one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.data.corpus import Corpus
from fansrec.data.targets import target_lengths
from fansrec.engine.generation import ONE_PASS
from fansrec.engine.interface import Engine
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting
from fansrec.evaluation.metrics import PAPER, STANDARD, counted, hit_ratio, hits, ideal_lengths, ndcg

LONGEST = 10  # the deepest place any metric looks at
CUTS = (5, 10)
FIGURES = ("NDCG@5", "HR@5", "NDCG@10", "HR@10")


@dataclass(frozen=True)
class Protocol:
    """`paper`: masks as many as the target has, the input's items may come again. `standard`: 10, and they may not."""

    name: str = PAPER
    input: str = "kept"  # or "excluded"
    masks: str = "target"  # or "10"


def protocol(name: str, input: str | None = None, masks: str | None = None) -> Protocol:
    """A protocol by name, with its own defaults unless told otherwise."""
    defaults = {PAPER: ("kept", "target"), STANDARD: ("excluded", "10")}
    if name not in defaults:
        raise BadSetting(f"there is no protocol {name!r}; choose {PAPER} or {STANDARD}")
    return Protocol(name, input or defaults[name][0], masks or defaults[name][1])


@dataclass(frozen=True)
class Questions:
    """Lists cut in two: what a model is given, and what it should have said."""

    inputs: list[NDArray[np.int64]]
    targets: list[NDArray[np.int32]]

    def every(self, step: int, first: int) -> "Questions":
        """One of `step` equal shares."""
        return Questions(self.inputs[first::step], self.targets[first::step])


def questions(corpus: Corpus, part: str, most: int | None = None) -> Questions:
    """The lists of a part; if there are more than `most`, evenly spread ones."""
    lists = corpus.part(part)
    if most is not None and len(lists) > most:
        lists = lists[np.linspace(0, len(lists) - 1, most).astype(int)]
    cuts = corpus.lengths[lists] - target_lengths(corpus.lengths[lists])
    both = [(corpus.list(i), cut) for i, cut in zip(lists, cuts, strict=True)]
    return Questions([items[:cut].astype(np.int64) for items, cut in both], [items[cut:] for items, cut in both])


def ask(engine: Engine, asked: Questions, how: Protocol, fill: str = Rules.fill) -> NDArray[np.int64]:
    """The first 10 items of every answer, (lists, 10), -1 where an answer is shorter."""
    counts = wanted(asked, how)
    if engine.generation != ONE_PASS:  # later items do not change the first ones, and only those are judged
        counts = [min(count, LONGEST) for count in counts]
    answers = engine.continue_lists(asked.inputs, counts, rules(how, fill))
    return first_items([answer.items for answer in answers])


def wanted(asked: Questions, how: Protocol) -> list[int]:
    """How many items each answer shall have."""
    return [len(target) if how.masks == "target" else LONGEST for target in asked.targets]


def rules(how: Protocol, fill: str = Rules.fill) -> Rules:
    return Rules(keep_seen=how.input == "kept", fill=fill)


def first_items(rows: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """The first 10 items of each row as (rows, 10), -1 where a row is shorter."""
    firsts = np.full((len(rows), LONGEST), -1, dtype=np.int64)
    for first, row in zip(firsts, rows, strict=True):
        first[: len(row)] = row[:LONGEST]
    return firsts


def judge(answers: NDArray[np.int64], asked: Questions, how: Protocol) -> dict[str, NDArray[np.float64]]:
    """NDCG and HR of every list that counts: the figures behind each mean."""
    hit = hits(answers, asked.targets)
    figures = {}
    for n in CUTS:
        counts = counted(asked.targets, n, how.name)
        figures[f"NDCG@{n}"] = ndcg(hit, n, ideal_lengths(asked.targets, n, how.name))[counts]
        figures[f"HR@{n}"] = hit_ratio(hit, n)[counts]
    return figures


def mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else float("nan")
