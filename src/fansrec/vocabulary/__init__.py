"""Item ids and names as users write them, item indices as models use them."""

from fansrec.vocabulary.mapping import (
    CATEGORIES_FILE,
    GROUP,
    ITEMS_FILE,
    MAX_GROUP_NAME,
    MAX_LINE_BYTES,
    Vocabulary,
    is_group_name,
    read_vocabulary,
)

__all__ = [
    "CATEGORIES_FILE",
    "GROUP",
    "ITEMS_FILE",
    "MAX_GROUP_NAME",
    "MAX_LINE_BYTES",
    "Vocabulary",
    "is_group_name",
    "read_vocabulary",
]
