"""Folds: each one is a corpus of its own whose categories are learned from its training lists alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.data.corpus import Corpus, read_corpus, write_corpus
from fansrec.data.corpus_builder import Selection, build_corpus, summarize
from fansrec.data.folds import assign_folds
from fansrec.data.item_details import ItemDetails
from fansrec.data.lists import Lists, RawLists
from fansrec.data.prepare import categorize
from fansrec.data.settings import Preparation
from fansrec.data.splitting import TEST, TRAIN, VALID, ListKeys
from fansrec.experiments.crossval.cross_validation import Split, fold_folder, has_fold
from fansrec.experiments.pool import Job


def parts_of_fold(fold_of: NDArray[np.int64], fold: int, folds: int) -> NDArray[np.uint8]:
    """Return the part of every list, shape (lists,): `fold` is the test, the next fold validates, the others train."""
    parts = np.full(len(fold_of), TRAIN, dtype=np.uint8)
    parts[fold_of == fold] = TEST
    parts[fold_of == (fold + 1) % folds] = VALID
    return parts


def fold_jobs(corpus: Path, folder: Path, split: Split, numbers: Sequence[int]) -> list[Job]:
    """Return a job for every fold that is not made yet."""
    return [
        Job(f"fold {number}", make_fold, (corpus, folder, split, number))
        for number in numbers
        if not has_fold(folder, number)
    ]


def make_fold(source: Path, folder: Path, split: Split, number: int) -> None:
    corpus = read_corpus(source)
    write_corpus(fold_folder(folder, number), corpus if split.folds is None else fold_corpus(corpus, split, number))


def fold_corpus(corpus: Corpus, split: Split, number: int) -> Corpus:
    """Return a corpus with the same lists and items in other parts, and so with other categories and item indices."""
    folds, seed = split.folds or 1, split.seed or 0
    lists, ids = Lists(np.asarray(corpus.items), corpus.offsets), corpus.vocabulary.ids
    parts = parts_of_fold(assign_folds(len(corpus), folds, seed, corpus.groups), number, folds)
    keys = ListKeys(corpus.groups)
    selected = Selection(lists, ids, np.arange(len(ids)), parts, keys, corpus.vocabulary.integers)
    details, preparation = _details(corpus), _preparation(corpus, seed)
    categories = categorize(RawLists(lists, ids), selected, details, preparation)
    fold = build_corpus(selected, details, categories)
    fold.summary.update(summarize(fold, categories, preparation, str(corpus.summary.get("source", split.corpus)), keys))
    fold.summary["split"] = {"by": "folds", "seed": seed}
    fold.summary["fold"] = {"number": number, "folds": folds, "seed": seed, "of": split.fingerprint}
    return fold


def _has_own_categories(corpus: Corpus) -> bool:
    return corpus.summary.get("categories_from") == "own"


def _preparation(corpus: Corpus, seed: int) -> Preparation:
    """Return the settings of the corpus; lists are not filtered again, so its filters are only recorded."""
    recorded: dict[str, Any] = corpus.summary.get("preparation", {})
    kept = {name: recorded[name] for name in ("min_item_count", "min_length", "max_length") if name in recorded}
    count = len(corpus.vocabulary.starts) - 1
    return Preparation(**kept, categories="own" if _has_own_categories(corpus) else count, seed=seed)


def _details(corpus: Corpus) -> ItemDetails:
    """Return the names, groups, dates and own categories that the vocabulary holds, as if read from an items file."""
    vocabulary, indices = corpus.vocabulary, range(len(corpus.vocabulary))
    names = {vocabulary.ids[i]: name for i in indices if (name := vocabulary.name(i)) is not None}
    groups = {vocabulary.ids[i]: group for i in indices if (group := vocabulary.group(i)) is not None}
    own = {vocabulary.ids[i]: vocabulary.category(i) for i in indices} if _has_own_categories(corpus) else {}
    dates = {vocabulary.ids[i]: date for i in indices if (date := vocabulary.date(i)) is not None}
    return ItemDetails(names, groups, own, corpus.vocabulary.group_name, dates)
