"""Starting vectors of items against an exact SVD of the same matrix."""

import numpy as np
import pytest
import torch
from torch import Tensor

from fansrec.models.hybrid import starting_vectors as module
from fansrec.models.hybrid.starting_vectors import MIN_RARITY, starting_vectors
from worlds import walks

Lists = list[list[int]]


def vectors_of(lists: Lists, vocabulary: int, width: int, seed: int = 0) -> Tensor:
    torch.manual_seed(seed)
    items = np.array([item for one in lists for item in one], dtype=np.int32)
    return starting_vectors(items, np.cumsum([0, *map(len, lists)]), vocabulary, width)


def matrix_of(lists: Lists, vocabulary: int) -> np.ndarray:
    """Return the weighted matrix (lists, items), entry by entry."""
    matrix = np.zeros((len(lists), vocabulary))
    for row, one in zip(matrix, lists, strict=True):
        for item in set(one):
            row[item] = max(np.log(len(lists) / sum(item in other for other in lists)), MIN_RARITY)
        row /= np.linalg.norm(row)
    return matrix


def exact(lists: Lists, vocabulary: int, width: int) -> np.ndarray:
    """Return the right singular vectors times their singular values, of mean length 1 and none above LONGEST."""
    _, values, right = np.linalg.svd(matrix_of(lists, vocabulary), full_matrices=False)
    found = right[:width].T * values[:width]
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    return found / lengths * np.minimum(lengths / lengths.mean(), module.LONGEST)


def random_lists(count: int = 80, vocabulary: int = 30) -> Lists:
    """Return lists that repeat some items; every item is in one of two halves of the catalog."""
    random = np.random.default_rng(0)
    halves = random.integers(2, size=count)
    return [(half * vocabulary // 2 + random.integers(vocabulary // 2, size=6)).tolist() for half in halves]


@pytest.mark.parametrize("width", [1, 4, 12])
def test_vectors_equal_an_exact_svd(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NOISE", 0.0)
    lists = random_lists()
    made, expected = vectors_of(lists, 30, width).double().numpy(), exact(lists, 30, width)
    assert made.shape == (30, width)
    np.testing.assert_allclose(made @ made.T, expected @ expected.T, atol=1e-4)  # columns may have another sign


def test_longest_vectors_are_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NOISE", 0.0)
    monkeypatch.setattr(module, "LONGEST", 1.1)
    lists = random_lists()
    made, expected = vectors_of(lists, 30, 4).double(), exact(lists, 30, 4)
    assert 0 < (np.linalg.norm(expected, axis=1) > 1.0999).sum() < 30
    np.testing.assert_allclose(made.norm(dim=1).numpy(), np.linalg.norm(expected, axis=1), atol=1e-4)


def test_first_vectors_of_many_items_equal_an_exact_svd(monkeypatch: pytest.MonkeyPatch) -> None:
    # More items than columns of the random basis, so that the iterations matter.
    monkeypatch.setattr(module, "NOISE", 0.0)
    monkeypatch.setattr(module, "MORE", 8)
    lists = random_lists(count=150, vocabulary=60)
    made, expected = vectors_of(lists, 60, 2).double().numpy(), exact(lists, 60, 2)
    np.testing.assert_allclose(made @ made.T, expected @ expected.T, atol=0.02)


def test_items_that_occur_together_are_near_each_other() -> None:
    made = torch.nn.functional.normalize(vectors_of([[0, 1, 2], [0, 1], [1, 2], [3, 4, 5], [3, 5], [4, 5]] * 4, 6, 4))
    near = made @ made.T
    assert near[:3, :3].min() > near[:3, 3:].max() + 0.2
    assert near[3:, 3:].min() > near[:3, 3:].max() + 0.2


def test_mean_length_is_1() -> None:
    corpus = walks()
    torch.manual_seed(0)
    made = starting_vectors(corpus.items, corpus.offsets, 60, 16)
    assert float(made.norm(dim=1).mean()) == pytest.approx(1, abs=0.02)


def test_items_of_no_list_have_small_different_vectors() -> None:
    made = vectors_of(random_lists(), 33, 8)
    absent = made[30:]
    assert made.isfinite().all()
    assert (absent.norm(dim=1) < 0.1).all() and (absent.norm(dim=1) > 0).all()
    assert not torch.equal(absent[0], absent[1])


@pytest.mark.parametrize(("lists", "vocabulary"), [
    ([[0, 1, 2], [2, 1]], 3),
    ([[0]], 1),
    ([[0, 1, 2, 3, 4, 5]], 6),
    ([[0, 0, 0]], 2),
    ([[n % 40, (n + 1) % 40] for n in range(3)], 40),
], ids=["few of both", "one item", "one list", "one item of two", "few lists"])  # fmt: skip
def test_fewer_items_or_lists_than_the_width(lists: Lists, vocabulary: int) -> None:
    made = vectors_of(lists, vocabulary, 16)
    assert made.shape == (vocabulary, 16) and made.isfinite().all()
    assert (made.norm(dim=1) > 0).all()


def test_same_seed_gives_the_same_bytes() -> None:
    one, again, other = (vectors_of(random_lists(), 30, 8, seed) for seed in (3, 3, 4))
    assert one.numpy().tobytes() == again.numpy().tobytes()
    assert not torch.equal(one, other)


def test_largest_entry_of_every_column_is_positive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NOISE", 0.0)
    monkeypatch.setattr(module, "LONGEST", 1e6)  # shortened vectors could have another largest entry
    made = [vectors_of(random_lists(), 30, 6, seed) for seed in range(3)]
    for vectors in made:
        assert (vectors.gather(0, vectors.abs().argmax(0, keepdim=True)) > 0).all()
        torch.testing.assert_close(vectors, made[0], atol=1e-3, rtol=1e-3)
