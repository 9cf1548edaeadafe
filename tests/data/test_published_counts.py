"""Public sets prepared as in the paper have the published counts."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fansrec.data.corpus import read_corpus, target_lengths
from fansrec.data.describe import describe
from fansrec.data.filtering import filter_lists
from fansrec.data.prepare import Preparation, prepare
from fansrec.data.public import PUBLIC
from fansrec.data.sources import read_lists

COUNTED = ("lists", "items", "interactions", "longest")
SMALLEST = "grateful-dead/lists.tsv.gz"
COUNTS = {
    "spotify-attlist/listItem_spotify.txt.gz": (20, 300, 3_310, 12_527, 261_708, 300),
    SMALLEST: (10, 60, 1_880, 231, 38_282, 36),
}
LARGER = {
    "aotm-large": ("aotm/AotM.txt.zip", 59),
    "nowplaying": ("nowplaying/lists.tsv.gz", 30),
    "recipes": ("recipes/lists.tsv.gz", 63),
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_public_set_has_its_known_counts(name: str, real_data: Callable[[str], Path], tmp_path: Path) -> None:
    shortest, longest, *known = COUNTS[name]
    categories = None if name == SMALLEST else 1  # learning them takes most of the time and changes no count
    preparation = Preparation(min_length=shortest, max_length=longest, categories=categories)
    summary = prepare(real_data(name), tmp_path / "corpus", preparation)
    assert [summary[key] for key in COUNTED] == known


@pytest.mark.parametrize("name", LARGER)
def test_a_larger_set_has_its_registered_statistics(name: str, real_data: Callable[[str], Path]) -> None:
    file, longest = LARGER[name]
    set_, raw = PUBLIC[name], read_lists(real_data(file))
    limits = set_.min_item_count, set_.min_length, set_.max_length
    lists = filter_lists(raw.lists, len(raw.ids), *limits).lists
    measured, known = describe(name, lists.lengths, lists.items).statistics, set_.statistics
    assert (measured.lists, measured.items, measured.interactions) == (known.lists, known.items, known.interactions)
    assert (measured.shortest, measured.longest) == (known.shortest, longest)
    assert (round(measured.average, 2), round(measured.density, 3)) == (known.average, known.density)


def test_aotm_in_file_order_has_the_counts_and_the_split_of_the_paper(
    real_data: Callable[[str], Path], tmp_path: Path
) -> None:
    preparation = Preparation(max_length=60, split="file-order", categories=1)
    summary = prepare(real_data("aotm/AotM.txt.zip"), tmp_path / "corpus", preparation)
    assert [summary[key] for key in COUNTED] == [12_940, 6_264, 162_106, 59]
    assert summary["splits"] == {"train": 10_353, "valid": 1_295, "test": 1_292}
    corpus = read_corpus(tmp_path / "corpus")
    targets = target_lengths(corpus.lengths[corpus.part("test")])
    assert np.count_nonzero(targets >= 10) == 65


def test_grateful_dead_has_song_titles(real_data: Callable[[str], Path], tmp_path: Path) -> None:
    lists, items = real_data("grateful-dead/lists.tsv.gz"), real_data("grateful-dead/items.tsv.gz")
    prepare(lists, tmp_path / "corpus", Preparation(max_length=60, split_by="venue"), items=items)
    vocabulary = read_corpus(tmp_path / "corpus").vocabulary
    assert vocabulary.integer_ids
    assert vocabulary.names is not None and all(vocabulary.names)
    assert "Dark Star" in vocabulary.names
