import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fansrec.data.corpus import Corpus, fingerprint, read_corpus
from fansrec.data.folds import assign_folds
from fansrec.errors import BadArtifact, BadSetting
from fansrec.experiments.command_line import parse_integers
from fansrec.experiments.crossval.cross_validation import FILE, Split, fold_folder, read_split, start_split
from fansrec.experiments.crossval.folds import fold_corpus, fold_jobs, make_fold, parts_of_fold
from fansrec.vocabulary import Vocabulary
from worlds import walks

SPLIT = Split("walks", "-", 3, 0)


def names(corpus: Corpus, index: int) -> list[str]:
    return [corpus.vocabulary.ids[item] for item in corpus.list(index)]


def labels(corpus: Corpus) -> dict[str, str]:
    return {id_: corpus.vocabulary.category(item) for item, id_ in enumerate(corpus.vocabulary.ids)}


def test_every_list_is_in_test_once_and_in_validation_once() -> None:
    fold_of = assign_folds(47, 5, seed=1)
    parts = np.stack([parts_of_fold(fold_of, fold, 5) for fold in range(5)])  # (folds, lists)
    for part, times in ((0, 3), (1, 1), (2, 1)):
        assert ((parts == part).sum(0) == times).all()
    assert max(np.bincount(fold_of)) - min(np.bincount(fold_of)) == 1
    assert (parts[0] == 1).tolist() == (parts[1] == 2).tolist()


def test_folds_depend_on_the_seed() -> None:
    assert assign_folds(50, 5, 0).tolist() == assign_folds(50, 5, 0).tolist() != assign_folds(50, 5, 1).tolist()


def test_lists_of_a_group_are_in_the_same_fold() -> None:
    groups = np.array([0, 1, 2, 0, 1, 3, 0, 4, 0])  # sizes 4, 2, 1, 1, 1: folds of 4, 3 and 2 lists
    fold_of = assign_folds(9, 3, 0, groups)
    assert all(len(set(fold_of[groups == group])) == 1 for group in range(5))
    assert sorted(np.bincount(fold_of, minlength=3)) == [2, 3, 4]
    others = {tuple(assign_folds(9, 3, seed, groups)) for seed in range(9)}
    assert tuple(assign_folds(9, 3, 0, groups)) == tuple(fold_of) and len(others) > 1
    with pytest.raises(BadSetting, match="2 groups of lists are too few for 3 folds"):
        assign_folds(9, 3, 0, groups % 2)


def test_fold_keeps_the_groups_of_the_lists() -> None:
    made = walks(lists=30)
    corpus = replace(made, groups=np.arange(30) // 5)
    fold = fold_corpus(corpus, SPLIT, 1)
    assert fold.groups is not None and corpus.groups is not None
    assert fold.groups.tolist() == corpus.groups.tolist()
    assert fold.parts.reshape(6, 5).tolist() == [[part] * 5 for part in fold.parts[::5]]


def test_fold_has_all_lists_in_order_and_all_items(walks_folder: Path, folds: tuple[Path, Split]) -> None:
    whole = read_corpus(walks_folder)
    for number in range(3):
        fold = read_corpus(fold_folder(folds[0], number))
        assert sorted(fold.vocabulary.ids) == sorted(whole.vocabulary.ids)
        assert [names(fold, i) for i in range(len(fold))] == [names(whole, i) for i in range(len(whole))]
        assert len(fold.vocabulary.starts) == len(whole.vocabulary.starts)
        assert fold.summary["splits"] == {"train": 20, "valid": 20, "test": 20}
        assert fold.summary["categories_from"] == "train"


def test_categories_are_learned_from_training_lists_alone() -> None:
    corpus = walks(lists=30)
    fold = fold_corpus(corpus, SPLIT, 0)
    items = corpus.items.copy()
    for index in (*fold.part("test"), *fold.part("valid")):  # other items in lists outside the training part
        items[corpus.offsets[index] : corpus.offsets[index + 1]] = 7
    other = fold_corpus(replace(corpus, items=items), SPLIT, 0)
    assert other.vocabulary.files() == fold.vocabulary.files()
    for index in fold.part("train"):
        items[corpus.offsets[index] : corpus.offsets[index + 1]] = np.arange(corpus.lengths[index]) * 5 % 60
    assert labels(fold_corpus(replace(corpus, items=items), SPLIT, 0)) != labels(fold)


def test_own_categories_names_groups_and_dates_are_kept() -> None:
    made = walks(lists=30)
    ids = made.vocabulary.ids
    vocabulary = Vocabulary(
        ids,
        made.vocabulary.starts,
        names=[f"Song {id_}" for id_ in ids],
        groups=[None, *(f"by {id_}" for id_ in ids[1:])],
        category_names=["blues", "folk", "jazz", "soul"],
        dates=["1999-01-01", *[None] * (len(ids) - 1)],
    )
    corpus = replace(made, vocabulary=vocabulary, summary={**made.summary, "categories_from": "own"})
    fold = fold_corpus(corpus, SPLIT, 1)
    assert labels(fold) == labels(corpus)
    item = fold.vocabulary.find("i0")
    assert item is not None
    assert (fold.vocabulary.name(item), fold.vocabulary.group(item)) == ("Song i0", None)
    assert fold.vocabulary.date(item) == "1999-01-01"


def test_own_split_of_the_corpus_is_a_single_fold(walks_folder: Path, tmp_path: Path) -> None:
    corpus = read_corpus(walks_folder)
    split = Split("walks", fingerprint(corpus), None, None)
    assert split.select([]) == [0]
    make_fold(walks_folder, tmp_path, split, 0)
    assert fingerprint(read_corpus(fold_folder(tmp_path, 0))) == fingerprint(corpus)


def test_existing_folds_are_not_made_again(walks_folder: Path, folds: tuple[Path, Split], tmp_path: Path) -> None:
    folder, split = folds
    assert fold_jobs(walks_folder, folder, split, [0, 1, 2]) == []
    assert [job.title for job in fold_jobs(walks_folder, tmp_path, split, [2])] == ["fold 2"]


@pytest.mark.parametrize(("lists", "folds", "message"), [(50, 2, "at least 3"), (9, 10, "9 lists are too few")])
def test_invalid_number_of_folds_is_refused(lists: int, folds: int, message: str) -> None:
    with pytest.raises(BadSetting, match=message):
        assign_folds(lists, folds, 0)


def test_folder_with_other_folds_is_refused(tmp_path: Path) -> None:
    start_split(tmp_path, SPLIT)
    start_split(tmp_path, SPLIT)
    assert read_split(tmp_path) == SPLIT
    with pytest.raises(BadSetting, match="made with folds 3 seed 0, not with folds 3 seed 1"):
        start_split(tmp_path, replace(SPLIT, seed=1))
    with pytest.raises(BadSetting, match="for another corpus"):
        start_split(tmp_path, replace(SPLIT, fingerprint="other"))


def test_folder_without_folds_or_with_a_damaged_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadArtifact, match="has no folds"):
        read_split(tmp_path)
    (tmp_path / FILE).write_text(json.dumps({"folds": 3}))
    with pytest.raises(BadArtifact, match="damaged"):
        read_split(tmp_path)


def test_unknown_fold_numbers_are_refused() -> None:
    assert SPLIT.select([2, 0, 2]) == [0, 2] and SPLIT.select([]) == [0, 1, 2]
    with pytest.raises(BadSetting, match="numbered 0 to 2"):
        SPLIT.select([3])
    with pytest.raises(BadSetting, match="fold_numbers 1,x is not a comma-separated list"):
        parse_integers("--fold-numbers", "1,x")
