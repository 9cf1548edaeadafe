"""Item ids and names as users write them, item indices as models use them."""

from fansrec.vocabulary.json_lines import MAX_LINE_BYTES
from fansrec.vocabulary.list_names import LISTS_FILE, ListNames, read_list_names
from fansrec.vocabulary.mapping import (
    CATEGORIES_FILE,
    GROUP,
    ITEMS_FILE,
    MAX_GROUP_NAME,
    Vocabulary,
    is_group_name,
    read_vocabulary,
)

__all__ = [
    "CATEGORIES_FILE",
    "GROUP",
    "ITEMS_FILE",
    "LISTS_FILE",
    "MAX_GROUP_NAME",
    "MAX_LINE_BYTES",
    "ListNames",
    "Vocabulary",
    "is_group_name",
    "read_list_names",
    "read_vocabulary",
]
