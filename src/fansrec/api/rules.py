"""A caller's rules, in item ids and names of categories, as the rules of an engine, in item indices."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.api.arguments import check_items, check_names, check_number, check_whole
from fansrec.api.unknown import DidYouMean, close_names, shown
from fansrec.engine.rules import Rules
from fansrec.engine.traits import ItemTraits
from fansrec.errors import BadSetting
from fansrec.vocabulary import Vocabulary


def make_rules(
    vocabulary: Vocabulary,
    traits: Callable[[], ItemTraits],
    *,
    exclude: Iterable[object] = (),
    allow: Iterable[object] | None = None,
    categories: Iterable[str] | None = None,
    max_per_group: int | None = None,
    min_score: float | None = None,
    keep_seen: bool = False,
    fill: str = "by-position",
    diversity: float = 0.0,
    popularity: float = 0.0,
    freshness: float = 0.0,
) -> Rules:
    """Return the rules in item indices; `categories` allows only their items. Only re-ranking calls `traits`."""
    named = {"diversity": diversity, "popularity": popularity, "freshness": freshness}
    controls = {name: check_number(value, f"--{name}") for name, value in named.items()}
    allowed = None if allow is None else _allowed(vocabulary, check_items(allow, "allow"))
    if categories is not None:
        inside = _in_categories(vocabulary, check_names(categories, "categories"))
        allowed = inside.tolist() if allowed is None else np.intersect1d(allowed, inside).tolist()
    return Rules(
        # An unknown item cannot be answered anyway.
        exclude=vocabulary.indices(check_items(exclude, "exclude"))[0].tolist(),
        allow=allowed,
        allowed_by=tuple(n for n, v in {"allow": allow, "categories": categories}.items() if v is not None),
        keep_seen=keep_seen,
        max_per_group=None if max_per_group is None else check_whole(max_per_group, "max_per_group"),
        min_score=None if min_score is None else check_number(min_score, "--min-score"),
        fill=fill,
        groups=vocabulary.group_indices if max_per_group is not None and vocabulary.groups else None,
        traits=traits() if any(controls.values()) else None,
        **controls,
    )


def _allowed(vocabulary: Vocabulary, items: list[object]) -> list[int]:
    indices, unknown = vocabulary.indices(items)
    if not items:
        raise BadSetting("--allow is empty, so that no item could be answered; name items, or leave it out")
    if not len(indices):
        meant = DidYouMean(vocabulary)(unknown)
        raise BadSetting(f"--allow names no item this model knows (unknown: {shown(unknown)}){meant}")
    return [*map(int, indices)]


def _in_categories(vocabulary: Vocabulary, names: list[Any]) -> NDArray[np.int64]:
    """Return the items of categories, category after category."""
    names = list(dict.fromkeys(map(str, names)))
    indices = {name: index for index, name in enumerate(vocabulary.category_names)}
    if unknown := [name for name in names if name not in indices]:
        raise BadSetting(f"this model has no category {shown(unknown)}{close_names(unknown[0], indices)}")
    starts = vocabulary.starts
    ranges = [np.arange(starts[indices[name]], starts[indices[name] + 1]) for name in names]
    return np.concatenate([np.zeros(0, dtype=np.int64), *ranges])
