"""The answer types, for a model in this process and for the service; nothing here imports numpy or torch."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

Item = str | int

SCORE_DIGITS = 6  # of scores in HTTP answers and in files


@dataclass(frozen=True)
class FoundItem:
    """An item that a search found.

    Attributes:
        item: Its id.
        name: Its name, if it has one.
        group: Its group, for example the artist, if it has one.
        category: Its category.
    """

    item: Item
    name: str | None
    group: str | None
    category: str


@dataclass(frozen=True)
class Reason:
    """An item of the input that speaks for an item of the answer.

    Attributes:
        item: Its id.
        name: Its name, if it has one.
        weight: Its share among the input items that speak for the item.
    """

    item: Item
    name: str | None
    weight: float


@dataclass(frozen=True)
class SimilarList:
    """A remembered list that is similar to the input and contains an item of the answer.

    Attributes:
        id: Id of the list, if the lists had ids.
        title: Its title, if it has one.
        similarity: 1 for the most similar list, less for others.
        shared: Number of distinct items of the input that it contains.
    """

    id: str | None
    title: str | None
    similarity: float
    shared: int


@dataclass(frozen=True)
class Explanation:
    """Why an item is in an answer.

    Attributes:
        parts: Shares in the score: network, memory, linear, popularity, none; they sum to 1.
        because: Items of the input that speak for it, the strongest first.
        lists: Similar lists that contain it, the most similar first.
    """

    parts: dict[str, float]
    because: list[Reason]
    lists: list[SimilarList]

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> "Explanation":
        """Return the explanation with these fields; other fields are ignored."""
        because = [Reason(one["item"], one["name"], one["weight"]) for one in fields["because"]]
        lists = [SimilarList(one["id"], one["title"], one["similarity"], one["shared"]) for one in fields["lists"]]
        return cls(dict(fields["parts"]), because, lists)


@dataclass(frozen=True)
class Position:
    """One item of an answer.

    Attributes:
        item: Its id.
        name: Its name, if it has one.
        category: Its category.
        score: Its score; scores of different models cannot be compared.
        group: Its group, for example the artist, if it has one.
        explanation: Why it is in the answer, if that was requested.
    """

    item: Item
    name: str | None
    category: str
    score: float
    group: str | None = None
    explanation: Explanation | None = None

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> "Position":
        """Return the position with these fields; other fields are ignored."""
        found = fields.get("explanation")
        explanation = None if found is None else Explanation.from_fields(found)
        return cls(fields["item"], fields["name"], fields["category"], fields["score"], fields["group"], explanation)

    def to_json(self) -> dict[str, Any]:
        """Return all fields, without an explanation if there is none."""
        fields = asdict(self)
        return fields if self.explanation else {key: fields[key] for key in fields if key != "explanation"}


@dataclass(frozen=True)
class Answer:
    """The continuation of one list.

    Attributes:
        positions: The items with names, scores and categories.
        unknown: Items of the input that the model does not know; they were skipped.
        reason: Why there are fewer than k items, or only popular ones.
        fallback: "popular" if these items do not continue the list, of which no item is known.

    Examples:
        >>> import fansrec
        >>> [answer] = fansrec.load("runs/mine").continue_lists([["s1", "no such song"]], k=2)
        >>> answer.unknown, answer.reason, answer.positions[0].item == answer.items[0]
        (['no such song'], None, True)
    """

    positions: list[Position]
    unknown: list[object]
    reason: str | None
    fallback: str | None = None

    @property
    def items(self) -> list[Item]:
        """The ids of the items."""
        return [position.item for position in self.positions]

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any]) -> "Answer":
        """Return the answer with the fields of `format_answer` or of the service; other fields are ignored."""
        positions = [Position.from_fields(one) for one in fields["positions"]]
        return cls(positions, fields["unknown"], fields["reason"], fields.get("fallback"))

    def to_json(self) -> dict[str, Any]:
        """Return all fields and the items alone, as `fans continue --json` prints them."""
        positions = [position.to_json() for position in self.positions]
        return {"items": self.items} | asdict(self) | {"positions": positions}

    def to_line(self) -> dict[str, Any]:
        """Return items and scores, and what else there is to report, as a line of many answers has them."""
        line: dict[str, Any] = {"items": self.items, "scores": [round(p.score, SCORE_DIGITS) for p in self.positions]}
        explanations = [asdict(p.explanation) for p in self.positions if p.explanation]
        extras = {
            "explanations": explanations,
            "unknown": self.unknown,
            "reason": self.reason,
            "fallback": self.fallback,
        }
        return line | {name: value for name, value in extras.items() if value}
