"""Continuations as callers see them, from a model in this process or from the service; nothing here needs torch."""

from dataclasses import dataclass

Item = str | int


@dataclass(frozen=True)
class Position:
    """One item of an answer."""

    item: Item
    name: str | None
    category: str
    score: float
    group: str | None = None


@dataclass(frozen=True)
class Answer:
    """The continuation of one list."""

    positions: list[Position]
    unknown: list[object]  # items of the input that the model does not know; they were skipped
    reason: str | None  # why there are fewer than k items, if there are

    @property
    def items(self) -> list[Item]:
        return [position.item for position in self.positions]
