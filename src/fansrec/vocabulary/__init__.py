"""Item ids and names as users write them, item indices as models use them."""

from fansrec.vocabulary.mapping import CATEGORIES_FILE, ITEMS_FILE, MAX_LINE_BYTES, Vocabulary, read_vocabulary

__all__ = ["CATEGORIES_FILE", "ITEMS_FILE", "MAX_LINE_BYTES", "Vocabulary", "read_vocabulary"]
