"""A trained model that continues lists of the user's own items: `fansrec.load(RUN).continue_lists(…)`."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fansrec.api.answers import Answer as Answer
from fansrec.api.answers import Position as Position
from fansrec.api.formatting import Details, format_answer, item_details
from fansrec.artifact import Artifact, read_artifact
from fansrec.engine.backends import open_engine
from fansrec.engine.interface import Engine
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting, UnknownItems


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

    def continue_lists(
        self,
        lists: Sequence[Iterable[object]],
        k: int = 10,
        *,
        exclude: Iterable[object] = (),
        allow: Iterable[object] | None = None,
        categories: Iterable[str] | None = None,
        max_per_group: int | None = None,
        min_score: float | None = None,
        keep_seen: bool = False,
        fill: str = "by-position",
    ) -> list[Answer]:
        """Return the continuation of each list.

        Args:
            lists: Lists of item ids or names; a list may be empty.
            k: How many distinct items each continuation has; fewer, with a reason, if the rules leave fewer.
            exclude: Items that are never answered.
            allow: The only items that may be answered; by default all items of the model.
            categories: The only categories whose items may be answered; by default all of them.
            max_per_group: Maximum number of items of one group (artist, author) in an answer.
            min_score: Items with a lower score are left out.
            keep_seen: Whether items of the input may be answered again.
            fill: How positions share the items: by-position, depth-first or arranged.
        """
        rules = self.rules(
            exclude=exclude,
            allow=allow,
            categories=categories,
            max_per_group=max_per_group,
            min_score=min_score,
            keep_seen=keep_seen,
            fill=fill,
        )
        inputs, unknown = zip(*[self.indices(items) for items in lists], strict=True) if lists else ((), ())
        answers = self.engine.continue_lists(inputs, k, rules)
        return [
            Answer.from_fields(format_answer(answer, own_unknown, k, rules, self.details))
            for answer, own_unknown in zip(answers, unknown, strict=True)
        ]

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
            allowed_by=tuple(n for n, v in {"allow": allow, "categories": categories}.items() if v is not None),
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
            raise BadSetting(f"--allow names no item this model knows (unknown: {_shown(unknown)})")
        return indices

    def indices(self, items: Iterable[object]) -> tuple[NDArray[np.int64], list[object]]:
        """Return the indices of a list's known items, and its unknown items.

        Raises:
            UnknownItems: If the list has items, and none of them is known.
        """
        if isinstance(items, str):
            raise BadSetting(f"{items!r} is a text; give lists of items, such as [[{items!r}]]")
        known, unknown = self.vocabulary.indices(items)
        if unknown and not known:
            raise UnknownItems(f"no item of the list is known to this model: {_shown(unknown)}")
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


def _shown(items: Sequence[object], most: int = 5) -> str:
    return ", ".join(str(item) for item in items[:most]) + (", …" if len(items) > most else "")
