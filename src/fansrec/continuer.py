"""A trained model ready to continue lists of the user's own items: `fansrec.load(RUN).continue_lists(…)`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fansrec.artifact import Artifact, read_artifact
from fansrec.engine.answers import Continuation
from fansrec.engine.rules import Rules
from fansrec.engine.selection import open_engine
from fansrec.errors import BadSetting, UnknownItems

Item = str | int


@dataclass(frozen=True)
class Position:
    """One item of an answer."""

    item: Item
    name: str | None
    category: str
    score: float


@dataclass(frozen=True)
class Answer:
    """The continuation of one list."""

    positions: list[Position]
    unknown: list[object]  # items of the input that the model does not know; they were skipped
    reason: str | None  # why there are fewer than k items, if there are

    @property
    def items(self) -> list[Item]:
        return [position.item for position in self.positions]


class Continuer:
    """Names are turned into numbers here, once, and back again at the end."""

    def __init__(self, artifact: Artifact, device: str = "cpu", backend: str = "auto") -> None:
        self.artifact = artifact
        self.vocabulary = artifact.vocabulary
        artifact.model.to(device)
        self.engine = open_engine(artifact.model, len(artifact.vocabulary), device, backend=backend)

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
        rules = Rules(
            exclude=self.vocabulary.numbers(exclude)[0],  # an unknown item cannot be answered anyway
            allow=None if allow is None else self._known(allow, "allow"),
            keep_seen=keep_seen,
            max_per_group=max_per_group,
            min_score=min_score,
            fill=fill,
            groups=self.vocabulary.group_numbers if max_per_group is not None and self.vocabulary.groups else None,
        )
        inputs, unknown = zip(*[self._numbers(items) for items in lists], strict=True) if lists else ((), ())
        answers = self.engine.continue_lists(inputs, k, rules)
        return [self._answer(a, u, k, rules) for a, u in zip(answers, unknown, strict=True)]

    def _known(self, items: Iterable[object], what: str) -> list[int]:
        numbers, unknown = self.vocabulary.numbers(items)
        if not numbers:
            raise BadSetting(f"{what} names no item this model knows (unknown: {_some(unknown)})")
        return numbers

    def _numbers(self, items: Iterable[object]) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], list[object]]:
        if isinstance(items, str):
            raise BadSetting(f"{items!r} is a text; give lists of items, such as [[{items!r}]]")
        known, unknown = self.vocabulary.numbers(items)
        if unknown and not known:
            raise UnknownItems(f"no item of the list is known to this model: {_some(unknown)}")
        return np.array(known, dtype=np.int64), unknown

    def _answer(self, answer: Continuation, unknown: list[object], k: int, rules: Rules) -> Answer:
        positions = [
            Position(self.vocabulary.id(i), self.vocabulary.name(i), self.vocabulary.category(i), float(score))
            for i, score in zip(answer.items.tolist(), answer.scores.tolist(), strict=True)
        ]
        return Answer(positions, unknown, None if len(positions) == k else _reason(len(positions), k, rules))


def load(run: str | Path, device: str = "cpu", backend: str = "auto") -> Continuer:
    """A trained model from its folder."""
    return Continuer(read_artifact(Path(run)), device, backend)


def _reason(given: int, k: int, rules: Rules) -> str:
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
