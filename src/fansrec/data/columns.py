"""The columns of a table with lists: those the user names, or those with a well-known name.

Spelling does not matter: case, spaces, hyphens, underscores and dots are ignored, so `Track Name` is `track_name`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from fansrec.errors import BadInput

# Of several recognized columns the first in this order is used: a list of items before the person who made it.
LIST_NAMES = (
    "list_id", "playlist_id", "list", "playlist", "pid",
    "session_id", "session", "basket_id", "basket", "cart_id", "cart", "order_id",
    "transaction_id", "transaction", "invoice_id", "invoice_no", "invoice", "visit_id", "trip_id", "set_id", "setlist",
    "recipe_id", "recipe", "shelf_id", "board_id",
    "user_id", "user", "uid", "visitor_id", "customer_id", "customer", "member_id", "reader_id", "listener_id",
)  # fmt: skip
ITEM_NAMES = (
    "item_id", "item", "track_id", "track", "track_uri", "song_id", "song", "book_id", "product_id",
    "product", "sku", "asin", "parent_asin", "stock_code", "isbn", "isbn13", "book", "article_id", "article",
    "movie_id", "movie", "film_id", "film", "video_id", "video", "news_id", "story_id", "episode_id", "game_id",
    "app_id", "course_id", "page_id", "url", "ingredient_id", "ingredient", "place_id", "poi_id", "business_id",
)  # fmt: skip
POSITION_NAMES = (
    "position", "pos", "item_position", "track_position", "rank", "order", "item_order", "sort_order",
    "add_to_cart_order", "sequence", "sequence_number", "seq", "step", "track_number", "track_no", "line_number",
)  # fmt: skip
TIME_NAMES = (
    "timestamp", "time", "date", "datetime", "ts", "unix_time", "event_time", "time_stamp", "created_at", "added_at",
    "played_at", "listened_at", "viewed_at", "clicked_at", "bought_at", "purchased_at", "rated_at", "read_at",
    "updated_at", "created", "added", "date_added", "date_created", "date_read", "created_on", "added_on",
    "order_date", "invoice_date", "purchase_date", "session_date", "show_date", "event_date", "order_time",
    "purchase_time", "review_time", "unix_review_time", "start_time", "started_at",
)  # fmt: skip
ITEMS_NAMES = (
    "items", "item_ids", "tracks", "track_ids", "track_uris", "songs", "song_ids", "books", "book_ids", "isbns",
    "products", "product_ids", "skus", "articles", "article_ids", "movies", "movie_ids", "films", "videos",
    "video_ids", "ingredients",
)  # fmt: skip
# Titles of lists: in a table with a row for every list also `title` and `name`, which elsewhere are those of items.
TITLE_NAMES = (
    "list_title", "list_name", "playlist_title", "playlist_name", "session_title", "session_name", "set_title",
    "set_name", "recipe_title", "recipe_name", "shelf_title", "shelf_name", "board_title", "board_name", "trip_name",
)  # fmt: skip
OWN_TITLE_NAMES = ("title", "name", *TITLE_NAMES)
ID_NAMES = ("item", "id", *ITEM_NAMES)
DETAIL_NAMES = {
    "name": (
        "name", "title", "item_name", "item_title", "track_name", "track_title", "song_name", "song_title",
        "book_title", "book_name", "product_name", "product_title", "movie_title", "movie_name", "article_title",
        "display_name", "description",
    ),
    "group": (
        "group", "artist", "author", "artist_name", "author_name", "album_artist", "artists", "authors", "band",
        "book_author", "brand", "brand_name", "creator", "director", "channel", "seller", "publisher", "manufacturer",
    ),
    "category": (
        "category", "genre", "item_category", "product_category", "category_name", "main_category", "genre_name",
        "department", "aisle", "cuisine",
    ),
    "date": (
        "date", "release_date", "released", "release_year", "publication_date", "published", "published_at",
        "publication_year", "year_of_publication", "first_published", "air_date", "year",
    ),
}  # fmt: skip
# A column with one of these words in its name, which is not used, gets a hint.
LIKELY_WORDS = {
    "time": ("time", "date", "timestamp", "datetime", "played", "added", "created"),
    "name": ("name", "title"),
    "group": ("artist", "author", "brand", "creator", "band"),
    "category": ("category", "categories", "genre", "genres"),
    "date": ("year", "released", "published"),
}
HELP = (
    ("list", LIST_NAMES), ("item", ITEM_NAMES), ("position", POSITION_NAMES), ("time", TIME_NAMES),
    ("items", ITEMS_NAMES), *DETAIL_NAMES.items(),
)  # fmt: skip


@dataclass(frozen=True)
class Columns:
    """The column names the user gave; None means that the column is recognized by its name."""

    list: str | None = None
    item: str | None = None
    position: str | None = None
    items: str | None = None
    time: str | None = None
    name: str | None = None
    group: str | None = None
    category: str | None = None
    date: str | None = None


RECOGNIZED = Columns()


@lru_cache(1024)
def normalized(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())


def find_all(names: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return the columns with one of the known names, in the order of the known names, ignoring the spelling."""
    by_spelling = {normalized(name): name for name in reversed(list(names))}
    spellings = dict.fromkeys(map(normalized, known))
    return [by_spelling[spelling] for spelling in spellings if spelling in by_spelling]


def find(names: Iterable[str], known: Sequence[str]) -> str | None:
    """Return the column with the first of the known names, ignoring the spelling, or None."""
    return next(iter(find_all(names, known)), None)


def repeated(names: Sequence[str]) -> list[str]:
    """Return a note for each name that a header has several times."""
    return [
        f"the header has column {name!r} {names.count(name)} times; the first one is used"
        for name in dict.fromkeys(names)
        if name and names.count(name) > 1
    ]


def likely(names: Iterable[str], role: str) -> list[str]:
    """Return the columns whose names contain a word that suggests this role."""
    return [name for name in names if any(word in re.split(r"[\W_]+", name.casefold()) for word in LIKELY_WORDS[role])]


def items_column(names: Sequence[str], columns: Columns, where: str) -> str | None:
    """Return the column that holds whole lists, or None if the table has one row per item."""
    if columns.items is not None:
        return required(names, columns.items, "--items-column", where)
    if columns.list is not None or columns.item is not None or columns.position is not None:
        return None
    if find(names, LIST_NAMES) and find(names, ITEM_NAMES):  # then a column `tracks` is a count
        return None
    return find(names, ITEMS_NAMES)


def id_columns(names: Sequence[str], columns: Columns, where: str) -> tuple[str, str]:
    """Return the columns of list ids and item ids of a table with one row per item."""
    list_name = columns.list or find([name for name in names if name != columns.item], LIST_NAMES)
    item_name = columns.item or find([name for name in names if name != list_name], ITEM_NAMES)
    if list_name is None and item_name is None:
        raise _missing(names, "no columns of lists and items were found", "--list-column and --item-column", where)
    if list_name is None:
        raise _missing(names, "no column of list ids was found", "--list-column", where)
    if item_name is None:
        suggested = find(names, DETAIL_NAMES["name"])  # names can be ids if nothing else is there
        flag = "--item-column" + (f", for example --item-column {suggested!r}" if suggested else "")
        raise _missing(names, "no column of item ids was found", flag, where)
    return required(names, list_name, "--list-column", where), required(names, item_name, "--item-column", where)


def required(names: Sequence[str], name: str, flag: str, where: str) -> str:
    """Return the column `name`, in the spelling of the table; raise BadInput if the table has no such column."""
    found = name if name in names else find(names, [name])
    if found is None:
        raise _missing(names, f"there is no column {name!r}", flag, where)
    return found


def _missing(names: Sequence[str], problem: str, flag: str, where: str) -> BadInput:
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return BadInput(f"{where}: {problem} (columns: {shown}); name it with {flag}")
