"""A trained model that continues lists of the user's own items: `fansrec.load(RUN).continue_lists(…)`."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.api.answers import Answer as Answer
from fansrec.api.answers import Position as Position
from fansrec.api.formatting import Details, format_answer, item_details
from fansrec.api.popular import NONE, POPULAR, check_fallback, popular_items
from fansrec.artifact import Artifact, read_artifact
from fansrec.engine.backends import open_engine
from fansrec.engine.interface import CategoryLookup, Continuation, Engine
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting, UnknownItems

UNKNOWN = "no item of the list is known to this model"


class Continuer:
    """A model, its vocabulary and its engine; item ids and names become item indices here, and back."""

    def __init__(
        self,
        artifact: Artifact,
        device: str = "cpu",
        backend: str = "auto",
        generation: str | None = None,
        engine: Engine | None = None,
    ) -> None:
        """Open an engine for the model, unless there is one."""
        self.artifact = artifact
        self.vocabulary = artifact.vocabulary
        if engine is None:
            engine = open_engine(artifact.stored, len(artifact.vocabulary), device, generation, backend)
        self.engine = engine
        self._popular: tuple[Rules, int, Continuation] | None = None

    def continue_lists(
        self,
        lists: Sequence[Iterable[object]],
        k: int = 10,
        *,
        exclude: Iterable[object] = (),
        allow: Iterable[object] | None = None,
        max_per_group: int | None = None,
        min_score: float | None = None,
        keep_seen: bool = False,
        fill: str = "by-position",
        fallback: str = NONE,
    ) -> list[Answer]:
        """Return the continuation of each list.

        Of several lists, one of only unknown items gets an empty answer that says so.

        Args:
            lists: Lists of item ids or names; a list may be empty.
            k: How many distinct items each continuation has; fewer, with a reason, if the rules leave fewer.
            exclude: Items that are never answered.
            allow: The only items that may be answered; by default all items of the model.
            max_per_group: Maximum number of items of one group (artist, author) in an answer.
            min_score: Items with a lower score are left out.
            keep_seen: Whether items of the input may be answered again.
            fill: How positions share the items: by-position, depth-first or arranged.
            fallback: What a list of only unknown items gets: none, or popular for the most popular items.

        Raises:
            UnknownItems: If there is one list, of only unknown items, and no fallback.
        """
        rules = self.rules(
            exclude=exclude,
            allow=allow,
            max_per_group=max_per_group,
            min_score=min_score,
            keep_seen=keep_seen,
            fill=fill,
        )
        check_fallback(fallback)
        if len(lists) == 1 and fallback == NONE:
            refuse_unknown(*self.indices(lists[0]))
        return self.answers(lists, k, rules, fallback)

    def answers(self, lists: Sequence[Iterable[object]], k: int, rules: Rules, fallback: str = NONE) -> list[Answer]:
        """Return the continuation of each list, also of a single one of only unknown items."""
        given = [self.indices(items) for items in lists]
        known = [indices for indices, unknown in given if not is_unknown(indices, unknown)]
        found = iter(self.engine.continue_lists(known, k, rules))
        return [
            Answer.from_fields(
                self.answer_unknown(unknown, k, rules, fallback)
                if is_unknown(indices, unknown)
                else format_answer(next(found), unknown, k, rules, self.details)
            )
            for indices, unknown in given
        ]

    def answer_unknown(
        self, unknown: list[object], k: int, rules: Rules, fallback: str, digits: int | None = None
    ) -> dict[str, Any]:
        """Return the answer to a list of only unknown items, as `format_answer` does for others."""
        if fallback == NONE:
            return {"positions": [], "unknown": unknown, "reason": UNKNOWN, "fallback": None}
        answer = format_answer(self.popular(k, rules), unknown, k, replace(rules, min_score=None), self.details, digits)
        reasons = [f"{UNKNOWN}; these are its most popular items", answer["reason"]]
        return answer | {"reason": "; ".join(filter(None, reasons)), "fallback": POPULAR}

    def popular(self, k: int, rules: Rules) -> Continuation:
        """Return the `k` most popular items under the rules, whose minimum score is ignored.

        A model without counts gives what continues an empty list. The last answer is kept: the lists of a call, and
        often those of many calls, share their rules.
        """
        if self._popular is None or self._popular[0] is not rules or self._popular[1] != k:
            counts = self.artifact.counts
            if counts is None:
                inputs, unlimited = [np.zeros(0, dtype=np.int64)], replace(rules, min_score=None)
                found = self.engine.continue_lists(inputs, k, unlimited)[0]
            else:
                found = popular_items(counts, self._by_popularity, self._category_lookup, k, rules)
            self._popular = rules, k, found
        return self._popular[2]

    @cached_property
    def _by_popularity(self) -> NDArray[np.int64]:
        """All items, those of the most training lists first, (M,)."""
        assert self.artifact.counts is not None
        return np.argsort(-self.artifact.counts, kind="stable")

    @cached_property
    def _category_lookup(self) -> CategoryLookup:
        return CategoryLookup(self.vocabulary.starts.tolist())

    def rules(
        self,
        *,
        exclude: Iterable[object] = (),
        allow: Iterable[object] | None = None,
        categories: Iterable[str] | None = None,
        max_per_group: int | None = None,
        min_score: float | None = None,
        keep_seen: bool = False,
        fill: str = "by-position",
    ) -> Rules:
        """Return a caller's rules in item indices; `categories` allows only their items."""
        allowed = None if allow is None else self._allowed(allow)
        if categories is not None:
            inside = self._in_categories(categories)
            allowed = inside.tolist() if allowed is None else np.intersect1d(allowed, inside).tolist()
        return Rules(
            exclude=self.vocabulary.indices(exclude)[0],  # an unknown item cannot be answered anyway
            allow=allowed,
            keep_seen=keep_seen,
            max_per_group=max_per_group,
            min_score=min_score,
            fill=fill,
            groups=self.vocabulary.group_indices if max_per_group is not None and self.vocabulary.groups else None,
        )

    def _in_categories(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Return the items of categories, category after category."""
        names = list(dict.fromkeys(names))
        indices = {name: index for index, name in enumerate(self.vocabulary.category_names)}
        if unknown := [name for name in names if name not in indices]:
            raise BadSetting(f"this model has no category {_shown(unknown)}")
        starts = self.vocabulary.starts
        ranges = [np.arange(starts[indices[name]], starts[indices[name] + 1]) for name in names]
        return np.concatenate([np.zeros(0, dtype=np.int64), *ranges])

    def _allowed(self, items: Iterable[object]) -> list[int]:
        indices, unknown = self.vocabulary.indices(items)
        if not indices:
            raise BadSetting(f"allow names no item this model knows (unknown: {_shown(unknown)})")
        return indices

    def indices(self, items: Iterable[object]) -> tuple[NDArray[np.int64], list[object]]:
        """Return the indices of a list's known items, and its unknown items."""
        if isinstance(items, str):
            raise BadSetting(f"{items!r} is a text; give lists of items, such as [[{items!r}]]")
        known, unknown = self.vocabulary.indices(items)
        return np.array(known, dtype=np.int64), unknown

    @cached_property
    def details(self) -> Details:
        return item_details(self.vocabulary)


def load(run: str | Path, device: str = "cpu", backend: str = "auto", generation: str | None = None) -> Continuer:
    """Load a trained model from its folder.

    Args:
        run: The folder that `fans train --out` wrote.
        device: cpu or cuda.
        backend: auto, torch, native or cuda; auto selects the fastest one that can run the model.
        generation: one-pass, autoregressive or recall; by default the model's own generation mode.
    """
    return Continuer(read_artifact(Path(run)), device, backend, generation)


def is_unknown(indices: NDArray[np.int64], unknown: Sequence[object]) -> bool:
    """Return whether a list has items, and none of them is known; arguments are what `Continuer.indices` returns."""
    return bool(unknown) and not len(indices)


def refuse_unknown(indices: NDArray[np.int64], unknown: Sequence[object]) -> None:
    """Raise UnknownItems if the list has items, and none of them is known."""
    if is_unknown(indices, unknown):
        raise UnknownItems(f"{UNKNOWN}: {_shown(unknown)}")


def _shown(items: Sequence[object], most: int = 5) -> str:
    return ", ".join(str(item) for item in items[:most]) + (", …" if len(items) > most else "")
