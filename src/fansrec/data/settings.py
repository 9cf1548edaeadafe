"""The settings of `fans prepare`, with their defaults and valid values."""

from dataclasses import dataclass
from typing import Literal

from fansrec.errors import BadSetting
from fansrec.vocabulary import GROUP, MAX_GROUP_NAME, is_group_name


@dataclass(frozen=True)
class Preparation:
    min_item_count: int = 10
    min_length: int = 10
    max_length: int = 200
    categories: int | Literal["own"] | None = None
    """A number, "own" for those of the items file, or None: own if the items file has any, else a default number."""
    categories_from: Literal["train", "all"] = "train"
    """The lists that categories are learned from: the training lists, or as in the paper all lists, unfiltered."""
    split: Literal["random", "file-order"] = "random"
    split_by: str | None = None
    seed: int = 0
    group_name: str | None = None
    """What a group is: artist, author, brand; None: the name of its column in the items file."""


def check(preparation: Preparation) -> None:
    """Raise BadSetting if a value is invalid."""
    for wrong, message in (
        (preparation.min_item_count < 1, "--min-item-count must be 1 or more"),
        (preparation.min_length < 2, "--min-length must be 2 or more: a list needs an input and a target"),
        (preparation.max_length < preparation.min_length, "--max-length must not be less than --min-length"),
        (isinstance(preparation.categories, int) and preparation.categories < 1, "--categories must be 1 or more"),
        (
            isinstance(preparation.categories, str) and preparation.categories != "own",
            "--categories must be a number or own",
        ),
        (preparation.categories_from not in ("train", "all"), "--categories-from must be train or all"),
        (preparation.split not in ("random", "file-order"), "--split must be random or file-order"),
        (
            preparation.split == "file-order" and preparation.split_by is not None,
            "--split-by assigns groups at random and excludes --split file-order; choose one",
        ),
        (
            not is_group_name(preparation.group_name or GROUP),
            f"--group-name must be a word with at most {MAX_GROUP_NAME} characters, such as artist",
        ),
        (not 0 <= preparation.seed < 2**32, "--seed must be from 0 to 4294967295"),
    ):
        if wrong:
            raise BadSetting(message)
