"""A corpus dealt into folds: each becomes a corpus of its own, its categories learned from its training lists alone."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.data.corpus import Corpus, read_corpus, write_corpus
from fansrec.data.corpus_builder import Selection, build_corpus, summarize
from fansrec.data.item_details import ItemDetails
from fansrec.data.lists import Lists, RawLists
from fansrec.data.prepare import categorize
from fansrec.data.settings import Preparation
from fansrec.data.splitting import TEST, TRAIN, VALID
from fansrec.errors import BadSetting
from fansrec.experiments.crossval.split import Split, fold_folder, is_made
from fansrec.experiments.pool import Job

FEWEST = 3  # one to train with, one to validate, one to test


def deal(lists: int, folds: int, seed: int) -> NDArray[np.int64]:
    """(lists,): the fold of every list; shuffled once and dealt in turn."""
    if folds < FEWEST:
        raise BadSetting(f"--folds {folds}: at least {FEWEST} are needed, for training, validation and test")
    if lists < folds:
        raise BadSetting(f"{lists} lists are too few for {folds} folds; give more lists, or fewer --folds")
    fold_of = np.empty(lists, dtype=np.int64)
    fold_of[np.random.default_rng(seed).permutation(lists)] = np.arange(lists) % folds
    return fold_of


def parts_of(fold_of: NDArray[np.int64], fold: int, folds: int) -> NDArray[np.uint8]:
    """A fold is tested, the next one validates, the others train."""
    parts = np.full(len(fold_of), TRAIN, dtype=np.uint8)
    parts[fold_of == fold] = TEST
    parts[fold_of == (fold + 1) % folds] = VALID
    return parts


def fold_jobs(corpus: Path, folder: Path, split: Split, numbers: list[int]) -> list[Job]:
    """Those of the folds that are not made yet."""
    return [
        Job(f"fold {number}", make_fold, (corpus, folder, split, number))
        for number in numbers
        if not is_made(folder, number)
    ]


def make_fold(source: Path, folder: Path, split: Split, number: int) -> None:
    corpus = read_corpus(source)
    write_corpus(fold_folder(folder, number), corpus if split.folds is None else fold_corpus(corpus, split, number))


def fold_corpus(corpus: Corpus, split: Split, number: int) -> Corpus:
    """The same lists in the same order and all items, in other parts and so with other categories and numbers."""
    folds, seed = split.folds or 1, split.seed or 0
    lists, ids = Lists(np.asarray(corpus.items), corpus.offsets), corpus.vocabulary.ids
    parts = parts_of(deal(len(corpus), folds, seed), number, folds)
    selected = Selection(lists, ids, np.arange(len(ids)), parts)
    details, preparation = _details(corpus), _preparation(corpus, seed)
    categories = categorize(RawLists(lists, ids), selected, details, preparation)
    fold = build_corpus(selected, details, categories)
    fold.summary.update(summarize(fold, categories, preparation, str(corpus.summary.get("source", split.corpus))))
    fold.summary["fold"] = {"number": number, "folds": folds, "seed": seed, "of": split.fingerprint}
    return fold


def _has_own_categories(corpus: Corpus) -> bool:
    return corpus.summary.get("categories_from") == "own"


def _preparation(corpus: Corpus, seed: int) -> Preparation:
    """As the corpus was prepared, with as many categories; lists are filtered no more, so the limits only tell."""
    told: dict[str, Any] = dict(corpus.summary.get("preparation", {}))
    kept = {name: told[name] for name in ("min_item_count", "min_length", "max_length") if name in told}
    number = len(corpus.vocabulary.starts) - 1
    return Preparation(**kept, categories="own" if _has_own_categories(corpus) else number, seed=seed)


def _details(corpus: Corpus) -> ItemDetails:
    """What the vocabulary knows of its items, as an items file would say it."""
    words, every = corpus.vocabulary, range(len(corpus.vocabulary))
    names = {words.ids[i]: name for i in every if (name := words.name(i)) is not None}
    groups = {words.ids[i]: group for i in every if (group := words.group(i)) is not None}
    own = {words.ids[i]: words.category(i) for i in every} if _has_own_categories(corpus) else {}
    return ItemDetails(names, groups, own)
