"""The key of a search index."""

from hashlib import sha256
from pathlib import Path

from fansrec.files import sha256 as file_sum
from fansrec.vocabulary import CATEGORIES_FILE, ITEMS_FILE


def key_of(run: Path) -> str:
    """Return the key of the index of a run: models with the same vocabulary share one."""
    sums = [file_sum(run / name) for name in (ITEMS_FILE, CATEGORIES_FILE)]
    return sha256("".join(sums).encode()).hexdigest()
