"""Lists of which the model knows no item: what is reported about them, and which items they may mean."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from fansrec.errors import UnknownItems
from fansrec.vocabulary import Vocabulary

UNKNOWN = "no item of the list is known to this model"
MAX_LOOKUPS = 5  # in one call or request: each takes some milliseconds in a large catalog
MAX_SHOWN = 80  # characters of a name


class DidYouMean:
    """Suggests known items for unknown ones, for the first MAX_LOOKUPS of a call."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary, self._left = vocabulary, MAX_LOOKUPS

    def __call__(self, unknown: Sequence[object]) -> str:
        """Return the end of a message about unknown items: `; did you mean 'Song 1'?`; or an empty text."""
        found = {}
        for item in unknown[: self._left]:
            self._left -= 1
            if suggested := self._vocabulary.suggestions(item):
                found[str(item)] = " or ".join(map(_quoted, suggested))
        if not found:
            return ""
        meant = ", ".join(f"{names} for {_quoted(item)}" for item, names in found.items())
        return f"; did you mean {meant if len(unknown) > 1 else next(iter(found.values()))}?"


def is_unknown(indices: Sequence[int] | NDArray[np.int64], unknown: Sequence[object]) -> bool:
    """Return whether a list has items, and none of them is known; arguments are what `Continuer.indices` returns."""
    return bool(unknown) and not len(indices)


def refuse_unknown(
    indices: Sequence[int] | NDArray[np.int64], unknown: Sequence[object], vocabulary: Vocabulary, what: str = UNKNOWN
) -> None:
    """Raise UnknownItems if a list has items, and none of them is known; the message begins with `what`."""
    if is_unknown(indices, unknown):
        raise UnknownItems(f"{what}: {shown(unknown)}{DidYouMean(vocabulary)(unknown)}")


def close_names(name: str, names: Iterable[str]) -> str:
    """Return the end of a message about an unknown name, one of few: `; did you mean 'rock'?`; or an empty text."""
    folded = {other.casefold(): other for other in names}
    found = get_close_matches(name.casefold(), folded, n=1)
    return f"; did you mean {_quoted(folded[found[0]])}?" if found else ""


def shown(items: Sequence[object], most: int = 5) -> str:
    """Return the first items of a list for a message."""
    return ", ".join(str(item) for item in items[:most]) + (", …" if len(items) > most else "")


def _quoted(name: str) -> str:
    return repr(name if len(name) <= MAX_SHOWN else name[: MAX_SHOWN - 1] + "…")
