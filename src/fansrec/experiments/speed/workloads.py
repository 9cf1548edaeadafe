"""Generated lists in the sizes of real data sets, so that benchmarks need no data and can be repeated anywhere."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fansrec.data.corpus import Corpus, target_lengths
from fansrec.errors import BadSetting
from fansrec.models.alphabet import SPECIALS
from fansrec.vocabulary import Vocabulary


@dataclass(frozen=True)
class Workload:
    """Sizes of a prepared data set; list lengths are exponentially distributed from `shortest` on, with this mean."""

    lists: int
    items: int
    shortest: int
    longest: int
    mean: float
    categories: int = 10
    remembered: int = 57_722  # lists in the list memory: the training lists of the paper's Spotify set


WORKLOADS = {
    "aotm": Workload(lists=12_940, items=6_264, shortest=10, longest=59, mean=12.53, remembered=10_353),
    "zhihu": Workload(lists=18_704, items=36_005, shortest=10, longest=200, mean=49.6, remembered=14_964),
    "goodreads": Workload(lists=15_426, items=47_877, shortest=20, longest=300, mean=103.0, remembered=12_342),
    # Fewer lists than the real 72,152: a benchmark needs only a part of an epoch.
    "spotify": Workload(lists=2_560, items=104_695, shortest=20, longest=300, mean=94.4),
    "industry": Workload(lists=2_560, items=240_000, shortest=20, longest=300, mean=94.4),
    "small": Workload(lists=2_560, items=104_695, shortest=20, longest=20, mean=20),  # 10 items and 10 more
    "long": Workload(lists=2_560, items=104_695, shortest=300, longest=300, mean=300),  # 150 and 150 more
}


def workload(name: str) -> Workload:
    if name not in WORKLOADS:
        raise BadSetting(f"there is no workload {name!r}; choose from {', '.join(WORKLOADS)}")
    return WORKLOADS[name]


def make_corpus(workload: Workload, random: np.random.Generator) -> Corpus:
    """Return a corpus of lists of Zipf-distributed items, split 8:1:1."""
    items, offsets = make_lists(workload, random)
    starts = np.array(even_categories(workload.items, workload.categories))
    names = [str(number) for number in range(workload.categories)]
    parts = np.zeros(workload.lists, dtype=np.uint8)
    parts[int(0.8 * workload.lists) :] = 1
    parts[int(0.9 * workload.lists) :] = 2
    return Corpus(
        items=items.astype(np.int32),
        offsets=offsets,
        parts=parts,
        vocabulary=Vocabulary([str(number) for number in range(workload.items)], starts, category_names=names),
        summary={"lists": workload.lists, "items": workload.items, "categories": workload.categories},
    )


def make_lists(
    workload: Workload, random: np.random.Generator, lengths: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return items and offsets: list i is `items[offsets[i]:offsets[i + 1]]`; lengths are random unless given."""
    if lengths is None:
        lengths = _lengths(workload, random.random(workload.lists))
    shares = 1 / (np.arange(workload.items) + 10)
    items = random.permutation(workload.items)[
        random.choice(workload.items, int(lengths.sum()), p=shares / shares.sum())
    ]
    return items, np.concatenate([[0], np.cumsum(lengths)])


def _lengths(workload: Workload, quantiles: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the list lengths at these quantiles of the workload's distribution."""
    excess = np.rint(-np.log1p(-quantiles) * (workload.mean - workload.shortest)).astype(np.int64)
    return np.minimum(workload.shortest + excess, workload.longest)


@dataclass(frozen=True)
class Question:
    """The first half of a list, and the number of items in its second half."""

    input: NDArray[np.int64]
    k: int


def questions_of(name: str, items: int, lists: int, seed: int) -> list[Question]:
    """Return `lists` questions over `items` items with the list lengths of a workload.

    The lengths are evenly spaced quantiles, so that even a few questions have the workload's mean length.
    """
    sizes, random = replace(workload(name), items=items, lists=lists), np.random.default_rng(seed)
    lengths = random.permutation(_lengths(sizes, (np.arange(lists) + 0.5) / lists))
    flat, offsets = make_lists(sizes, random, lengths)
    targets = target_lengths(np.diff(offsets)).tolist()
    ends = zip(pairwise(offsets.tolist()), targets, strict=True)
    return [Question(flat[start : end - k], k) for (start, end), k in ends]


def mixed(questions: Sequence[Question]) -> list[Question]:
    """Return the questions in van der Corput order of their lengths, starting with the median.

    Slow systems get only the first few, which are then short, medium and long ones.
    """
    by_length = sorted(questions, key=lambda question: question.k)
    bits = max(1, (len(by_length) - 1).bit_length())
    fractions = [int(f"{number:0{bits}b}"[::-1], 2) / (1 << bits) for number in range(1, 1 << bits)]  # 1/2, 1/4, 3/4, …
    order = dict.fromkeys(int(fraction * len(by_length)) for fraction in [*fractions, 0.0])
    return [by_length[index] for index in order]


def sequence_length(questions: Sequence[Question]) -> int:
    """Return the number of tokens of the longest list."""
    return max(len(question.input) + question.k for question in questions) + SPECIALS


def even_categories(items: int, categories: int) -> tuple[int, ...]:
    """Return the first item of each of `categories` equally large categories, and the end of the last one."""
    return tuple(np.linspace(0, items, categories + 1).astype(np.int64).tolist())
