"""The answer types, for a model in this process and for the service; nothing here imports numpy or torch."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

Item = str | int

SCORE_DIGITS = 6  # of scores in HTTP answers and in files


@dataclass(frozen=True)
class FoundItem:
    """An item that a search found."""

    item: Item
    name: str | None
    group: str | None
    category: str


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
    reason: str | None  # why there are fewer than k items, or only popular ones
    fallback: str | None = None  # "popular" if these items do not continue the list, of which no item is known

    @property
    def items(self) -> list[Item]:
        return [position.item for position in self.positions]

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> "Answer":
        """Return the answer with the fields of `format_answer` or of the service; other fields are ignored."""
        positions = [
            Position(one["item"], one["name"], one["category"], one["score"], one["group"])
            for one in fields["positions"]
        ]
        return cls(positions, fields["unknown"], fields["reason"], fields.get("fallback"))

    def to_json(self) -> dict[str, Any]:
        """Return all fields and the items alone, as `fans continue --json` prints them."""
        return {"items": self.items} | asdict(self)

    def to_line(self) -> dict[str, Any]:
        """Return items and scores, and what else there is to report, as a line of many answers has them."""
        line: dict[str, Any] = {"items": self.items, "scores": [round(p.score, SCORE_DIGITS) for p in self.positions]}
        extras = {"unknown": self.unknown, "reason": self.reason, "fallback": self.fallback}
        return line | {name: value for name, value in extras.items() if value}
