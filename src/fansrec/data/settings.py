"""The settings of `fans prepare`, with their defaults and valid values."""

from dataclasses import dataclass
from typing import Literal

from fansrec.errors import BadSetting

Order = Literal["auto", "position", "time", "file"]
Split = Literal["random", "file-order", "time"]
# The texts that mean "missing" in files without types: CSV, TSV and pairs. Empty cells always do.
NULL_VALUES = ("NA", "N/A", "n/a", "#N/A", "<NA>", "null", "NULL", "None", "NaN", "nan", r"\N")
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", r"\t": "\t"}


@dataclass(frozen=True)
class Preparation:
    min_item_count: int = 10
    min_length: int = 10
    max_length: int = 200
    categories: int | Literal["own"] | None = None
    """A number, "own" for those of the items file, or None: own if the items file has any, else a default number."""
    categories_from: Literal["train", "all"] = "train"
    """The lists that categories are learned from: the training lists, or as in the paper all lists, unfiltered."""
    split: Split = "random"
    split_by: str | None = None
    seed: int = 0
    group_name: str | None = None
    """What a group is: artist, author, brand; None: the name of its column in the items file."""
    split_at: tuple[float, float] | tuple[str, str] | None = None
    """Where the validation and the test part begin, for split="time": shares of the lists, or dates (ISO 8601)."""
    split_time: Literal["latest", "first"] = "latest"
    """The time of a list of which every item has one."""
    order: Order = "auto"
    """What orders the items of a list; auto: a position column, else a time column, else the rows."""
    on_bad_row: Literal["error", "skip"] = "error"
    duplicates: Literal["keep", "drop"] = "keep"
    separator: str | None = None
    null_values: tuple[str, ...] | None = None
    """Texts that mean "missing" in CSV, TSV and pair files; None: NULL_VALUES."""


def check(preparation: Preparation) -> None:
    """Raise BadSetting if a value is invalid."""
    # Imports numpy, which `fans --help` does not need.
    from fansrec.vocabulary import GROUP, MAX_GROUP_NAME, is_group_name

    for name in ("min_item_count", "min_length", "max_length", "seed"):
        value = getattr(preparation, name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise BadSetting(f"--{name.replace('_', '-')} {value!r:.40} must be a whole number")
    shortest, longest = preparation.min_length, preparation.max_length
    for wrong, message in (
        (preparation.min_item_count < 1, f"--min-item-count {preparation.min_item_count} must be 1 or more"),
        (shortest < 2, f"--min-length {shortest} must be 2 or more: a list needs an input and a target"),
        (
            longest < shortest,
            f"--min-length {shortest} is more than --max-length {longest}: no list could be kept; lower --min-length, "
            "or raise --max-length",
        ),
        (
            not _is_category_count(preparation.categories),
            f"--categories {preparation.categories!s:.40} must be 1 or more, or own",
        ),
        (
            not is_group_name(preparation.group_name or GROUP),
            f"--group-name must be a word with at most {MAX_GROUP_NAME} characters, such as artist",
        ),
        *_choices(preparation),
        (not 0 <= preparation.seed < 2**32, f"--seed {preparation.seed} must be from 0 to 4294967295"),
        (
            preparation.separator is not None and len(separator_of(preparation.separator)) != 1,
            f"--separator {preparation.separator!r} must be comma, semicolon, tab, pipe or a single character",
        ),
        (preparation.separator in ('"', "\n", "\r"), "--separator must not be a quote or a line break"),
    ):
        if wrong:
            raise BadSetting(message)
    _check_split(preparation)


def _is_category_count(value: object) -> bool:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value is None or value == "own" or (is_number and int(str(value)) >= 1)


def _choices(preparation: Preparation) -> list[tuple[bool, str]]:
    """Return for every option with a few valid values whether its value is none of them, and the message."""
    valid = {
        "categories_from": ("train", "all"),
        "split": ("random", "file-order", "time"),
        "split_time": ("latest", "first"),
        "order": ("auto", "position", "time", "file"),
        "on_bad_row": ("error", "skip"),
        "duplicates": ("keep", "drop"),
    }
    return [
        (
            getattr(preparation, name) not in values,
            f"--{name.replace('_', '-')} {getattr(preparation, name)!s:.40} must be {_one_of(values)}",
        )
        for name, values in valid.items()
    ]


def _one_of(values: tuple[str, ...]) -> str:
    return " or ".join([", ".join(values[:-1]), values[-1]])


def _check_split(preparation: Preparation) -> None:
    from fansrec.data.boundaries import check_boundaries

    split, at = preparation.split, preparation.split_at
    if split != "random" and preparation.split_by is not None:
        raise BadSetting(f"--split-by assigns groups at random and excludes --split {split}; choose one")
    if at is not None and split != "time":
        raise BadSetting(f"--split-at needs --split time, and the split is {split}; add --split time, or leave it out")
    if at is not None:
        check_boundaries(at)


def separator_of(text: str) -> str:
    """Return the character that `--separator` names: comma, semicolon, tab, pipe or the character itself."""
    return SEPARATORS.get(text, text)
