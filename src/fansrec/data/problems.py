"""The rows of a source that cannot be used, reported all at once: how many of each kind, and where the first are."""

from collections.abc import Callable, Iterable, Sequence

from fansrec.errors import BadInput

EXAMPLES = 3  # of each kind
MAX_DETAIL = 40  # characters of a value in a message

# Kinds, as they follow "3 rows" in a message.
NO_LIST = "without a list id"
NO_ITEM = "without an item id"
BAD_POSITION = "with a position that is missing or not a whole number"
BAD_TIME = "with a time that is missing, or is neither a number nor ISO 8601"
LONG_ROW = "with more fields than the first line"
BAD_QUOTE = "with a quote that is not closed or in the wrong place"
NOT_JSON = "that are not JSON"
NOT_OBJECT = "that are not a JSON object"
NOT_ARRAY = "that are not a JSON array"
NOT_ITEMS = "without a list of items"
EMPTY_LIST = "with an empty list"
LONG_LIST = "with a list that is too long"
NOT_ID = "with an item that is neither text nor a whole number"
NOT_UNICODE = "with an item id that is not valid Unicode"
NOT_PAIR = "that are not a pair of a list id and an item id"

Number = int  # of a line, or the index of a row until `resolve` turns it into a line


class Problems:
    """The unusable rows of one source. A row counts once for each kind."""

    def __init__(self, where: str, unit: str = "line") -> None:
        self.where = where
        self.unit = unit
        self.counts: dict[str, int] = {}
        self.first: dict[str, list[tuple[Number, str]]] = {}
        self.advice = ""  # what else the user can do, for the message

    def add(self, kind: str, number: Number, detail: object = "", count: int = 1) -> None:
        """Note `count` rows of a kind, one of them at `number`, with the value that is wrong."""
        self.counts[kind] = self.counts.get(kind, 0) + count
        examples = self.first.setdefault(kind, [])
        if len(examples) < EXAMPLES:
            text = detail if isinstance(detail, str) else repr(detail)
            examples.append((number, text if len(text) <= MAX_DETAIL else text[:MAX_DETAIL] + "…"))

    def resolve(self, kinds: Iterable[str], lines: Callable[[Sequence[int]], dict[int, int]]) -> None:
        """Replace the row indices of these kinds by the lines where the rows start."""
        rows = sorted({number for kind in kinds for number, _ in self.first.get(kind, [])})
        found = lines(rows) if rows else {}
        for kind in kinds:
            if kind in self.first:
                self.first[kind] = [(found[number], detail) for number, detail in self.first[kind]]

    def __bool__(self) -> bool:
        return bool(self.counts)

    def describe(self) -> str:
        """Return the number of rows and where the first are, by kind."""
        return ", ".join(f"{count:,} {kind} ({self._examples(kind)})" for kind, count in self.counts.items())

    def _examples(self, kind: str) -> str:
        shown = [f"{number}{f': {detail}' if detail else ''}" for number, detail in self.first[kind]]
        more = ", …" if self.counts[kind] > len(shown) else ""
        return f"{self.unit}{'s' if len(shown) > 1 else ''} {', '.join(shown)}{more}"

    def refuse(self) -> None:
        """Raise BadInput if there are problems."""
        if self:
            total = sum(self.counts.values())
            raise BadInput(
                f"{self.where}: {total:,} row{'s' if total > 1 else ''} cannot be used: {self.describe()}; "
                f"correct them, or leave them out with --on-bad-row skip{self.advice}"
            )

    def skipped(self) -> str:
        """Return the line of the report that says what was left out."""
        total = sum(self.counts.values())
        return f"skipped: {total:,} row{'s' if total > 1 else ''} of {self.where}: {self.describe()}"
