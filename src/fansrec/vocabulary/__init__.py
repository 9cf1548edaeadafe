"""Item ids and names as users write them, item indices as models use them."""

from fansrec.vocabulary.mapping import (
    CATEGORIES_FILE,
    ITEMS_FILE,
    LONGEST_LINE,
    Vocabulary,
    read_vocabulary,
)

__all__ = ["CATEGORIES_FILE", "ITEMS_FILE", "LONGEST_LINE", "Vocabulary", "read_vocabulary"]
