"""A corpus in several files behaves like the same corpus in one."""

from pathlib import Path

import numpy as np
import pytest

from fansrec.data.corpus import Corpus, fingerprint, read_corpus, write_all_but_items, write_corpus
from fansrec.data.describe import describe_source
from fansrec.data.shards import Shards, shard_name
from fansrec.errors import BadArtifact
from fansrec.evaluation.diversity import training_counts
from training_runs import train
from worlds import MINUTE, walks

CUTS = (0, 3, 4, 40)  # the first list of each shard


def write_sharded(folder: Path, corpus: Corpus) -> None:
    folder.mkdir()
    ends = [*CUTS[1:], len(corpus)]
    for number, (first, end) in enumerate(zip(CUTS, ends, strict=True)):
        np.save(folder / shard_name(number), corpus.items[corpus.offsets[first] : corpus.offsets[end]])
    write_all_but_items(folder, corpus)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Corpus, Corpus]:
    """The same corpus in one file and in four."""
    write_corpus(tmp_path / "one", walks())
    write_sharded(tmp_path / "four", walks())
    return read_corpus(tmp_path / "one"), read_corpus(tmp_path / "four")


def test_items_are_the_same(pair: tuple[Corpus, Corpus]) -> None:
    one, four = pair
    assert isinstance(four.items, Shards)
    positions = np.random.default_rng(0).integers(0, len(one.items), 35)
    mask = np.random.default_rng(0).random(len(one.items)) < 0.3
    border = int(one.offsets[3])
    for key in (positions, mask, slice(border - 2, border + 9), slice(5, 5)):
        found = four.items[key]
        assert np.array_equal(found, one.items[key]) and found.dtype == np.int32
    assert np.array_equal(np.asarray(four.items), one.items) and len(four.items) == len(one.items)
    assert (four.items.min(), four.items.max()) == (one.items.min(), one.items.max())
    assert all(np.array_equal(four.list(number), one.list(number)) for number in range(len(one)))


def test_position_out_of_range_is_an_error(pair: tuple[Corpus, Corpus]) -> None:
    for key in (np.array([len(pair[1].items)]), np.array([0, -1]), np.ones(3, dtype=bool)):
        with pytest.raises(IndexError):
            pair[1].items[key]


def test_list_within_one_shard_is_not_copied(pair: tuple[Corpus, Corpus]) -> None:
    assert isinstance(pair[1].list(5), np.memmap)


def test_corpus_knows_the_lists_of_each_shard(pair: tuple[Corpus, Corpus]) -> None:
    one, four = pair
    assert four.shards.tolist() == [*CUTS, len(one)]
    assert one.shards.tolist() == [0, len(one)]


def test_fingerprints_descriptions_and_shares_are_the_same(pair: tuple[Corpus, Corpus], tmp_path: Path) -> None:
    one, four = pair
    assert fingerprint(one) == fingerprint(four)
    assert np.array_equal(training_counts(one), training_counts(four))
    here, there = (describe_source(str(tmp_path / name)) for name in ("one", "four"))
    assert here.statistics == there.statistics and np.array_equal(here.counts, there.counts)


def test_a_model_learns_the_same_from_shards(pair: tuple[Corpus, Corpus], tmp_path: Path) -> None:
    runs = [tmp_path / f"run-{name}" for name in ("one", "four")]
    for name, run in zip(("one", "four"), runs, strict=True):
        train(tmp_path / name, run, "fans", {**MINUTE, "epochs": 1})
    weights = [next(run.glob("*.safetensors")).read_bytes() for run in runs]
    assert weights[0] == weights[1]


def test_corpus_of_shards_is_written_as_one_file(pair: tuple[Corpus, Corpus], tmp_path: Path) -> None:
    write_corpus(tmp_path / "again", pair[1])
    assert (tmp_path / "again" / "lists.npy").read_bytes() == (tmp_path / "one" / "lists.npy").read_bytes()


@pytest.mark.parametrize("lost", [shard_name(1), shard_name(3)])
def test_missing_shard_is_refused(pair: tuple[Corpus, Corpus], tmp_path: Path, lost: str) -> None:
    (tmp_path / "four" / lost).unlink()
    with pytest.raises(BadArtifact, match="is damaged"):
        read_corpus(tmp_path / "four")
