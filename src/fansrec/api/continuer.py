"""A trained model ready to continue lists of the user's own items: `fansrec.load(RUN).continue_lists(…)`."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fansrec.api.answers import Answer as Answer
from fansrec.api.answers import Position as Position
from fansrec.artifact import Artifact, read_artifact
from fansrec.engine.backends import open_engine
from fansrec.engine.interface import Continuation
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting, UnknownItems


class Continuer:
    """Names are turned into numbers here, once, and back again at the end."""

    def __init__(
        self, artifact: Artifact, device: str = "cpu", backend: str = "auto", generation: str | None = None
    ) -> None:
        self.artifact = artifact
        self.vocabulary = artifact.vocabulary
        artifact.model.to(device)
        self.engine = open_engine(artifact.model, len(artifact.vocabulary), device, generation, backend)

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
    ) -> list[Answer]:
        """`k` distinct items for each list of item ids or names, or as many as the rules leave, with the reason."""
        rules = self.rules(
            exclude=exclude,
            allow=allow,
            max_per_group=max_per_group,
            min_score=min_score,
            keep_seen=keep_seen,
            fill=fill,
        )
        inputs, unknown = zip(*[self.numbers(items) for items in lists], strict=True) if lists else ((), ())
        answers = self.engine.continue_lists(inputs, k, rules)
        return [self._answer(a, u, k, rules) for a, u in zip(answers, unknown, strict=True)]

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
        """A caller's rules in the model's own numbers; `categories` allows only items of these."""
        allowed = None if allow is None else self._known(allow, "allow")
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
        names = list(dict.fromkeys(names))
        places = {name: place for place, name in enumerate(self.vocabulary.category_names)}
        if unknown := [name for name in names if name not in places]:
            raise BadSetting(f"this model has no category {_some(unknown)}")
        starts = self.vocabulary.starts
        ranges = [np.arange(starts[places[name]], starts[places[name] + 1]) for name in names]
        return np.concatenate([np.zeros(0, dtype=np.int64), *ranges])

    def _known(self, items: Iterable[object], what: str) -> list[int]:
        numbers, unknown = self.vocabulary.indices(items)
        if not numbers:
            raise BadSetting(f"{what} names no item this model knows (unknown: {_some(unknown)})")
        return numbers

    def numbers(self, items: Iterable[object]) -> tuple[NDArray[np.int64], list[object]]:
        """A list's known items as numbers, and the unknown ones; a list of only unknown items is refused."""
        if isinstance(items, str):
            raise BadSetting(f"{items!r} is a text; give lists of items, such as [[{items!r}]]")
        known, unknown = self.vocabulary.indices(items)
        if unknown and not known:
            raise UnknownItems(f"no item of the list is known to this model: {_some(unknown)}")
        return np.array(known, dtype=np.int64), unknown

    def _answer(self, answer: Continuation, unknown: list[object], k: int, rules: Rules) -> Answer:
        words = self.vocabulary
        positions = [
            Position(words.id(i), words.name(i), words.category(i), float(score), words.group(i))
            for i, score in zip(answer.items.tolist(), answer.scores.tolist(), strict=True)
        ]
        return Answer(positions, unknown, None if len(positions) == k else why_fewer(len(positions), k, rules))


def load(run: str | Path, device: str = "cpu", backend: str = "auto", generation: str | None = None) -> Continuer:
    """A trained model from its folder."""
    return Continuer(read_artifact(Path(run)), device, backend, generation)


def why_fewer(given: int, k: int, rules: Rules) -> str:
    """What keeps an answer from having all items asked for."""
    limits = {
        "exclude": bool(rules.exclude),
        "allow": rules.allow is not None,
        "max_per_group": rules.max_per_group is not None,
        "min_score": rules.min_score is not None,
        "the items of the input": not rules.keep_seen,
    }
    asked = ", ".join(name for name, used in limits.items() if used)
    return f"only {given} of {k} items are left under the rules ({asked or 'the catalogue has no more'})"


def _some(items: Sequence[object], most: int = 5) -> str:
    return ", ".join(str(item) for item in items[:most]) + (", …" if len(items) > most else "")
