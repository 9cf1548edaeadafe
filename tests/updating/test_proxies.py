"""Items like new ones, by the words of their names."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fansrec.updating.proxies import CLOSE_NAME, MAX_CLOSE_NAMES, find_proxies

NAMES = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", "g"]), max_size=5).map(" ".join)


def slow_proxies(name: str, names: list[str]) -> list[int]:
    """Return the items with close names, by comparing all of them."""
    sets = [set(one.split()) for one in names]
    counts = {word: sum(word in one for one in sets) for one in sets for word in one}

    def weight(words: set[str]) -> float:
        return math.fsum(math.log(1 + len(names) / counts.get(word, 1)) ** 2 for word in words)

    own, cosines = set(name.split()), {}
    for item, words in enumerate(sets):
        if own & words:
            cosines[item] = weight(own & words) / math.sqrt(weight(own) * weight(words))
    close = [item for item, cosine in cosines.items() if cosine >= CLOSE_NAME]
    return sorted(close, key=lambda item: (-round(cosines[item], 9), item))[:MAX_CLOSE_NAMES]


@given(NAMES, st.lists(NAMES, min_size=1, max_size=12))
def test_items_of_close_names_are_those_of_a_comparison_with_all_names(name: str, names: list[str]) -> None:
    trained, counts = np.arange(len(names)), np.ones(len(names) + 1, dtype=np.int64)
    (found,) = find_proxies(np.array([len(names)]), trained, counts, [], [*names, name])
    expected = slow_proxies(name, names)
    assert sorted(found) == sorted(expected) or len(expected) == MAX_CLOSE_NAMES == len(found)
