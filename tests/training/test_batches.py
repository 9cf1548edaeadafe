import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fansrec.data.corpus import Corpus, target_lengths
from fansrec.errors import BadSetting
from fansrec.models.alphabet import Alphabet
from fansrec.models.fans import Fans, FansConfig
from fansrec.models.tokens import Batch
from fansrec.training.batches import MAX_CHUNKS, BatchBuilder, EpochBatches, Share, epoch_plan, length_chunks, share_of
from fansrec.training.masking import MaskingRates
from worlds import corpus_of, vocabulary_of, walks

NOTHING_AT_RANDOM = MaskingRates(hidden=0.0)


def builder(corpus: Corpus, rates: MaskingRates | None = None) -> BatchBuilder:
    starts = corpus.vocabulary.starts
    return BatchBuilder(corpus, Alphabet.of(starts), rates or MaskingRates())


def whole_lists(batch: Batch, alphabet: Alphabet) -> list[list[int]]:
    """Return the lists of a batch before masking, by inserting the labels."""
    tokens = torch.cat([chunk.items.flatten() for chunk in batch.chunks])
    tokens[batch.label_positions] = batch.labels
    lists, at = [], 0
    for chunk in batch.chunks:
        rows, columns = chunk.items.shape
        for row in tokens[at : at + rows * columns].view(rows, columns).tolist():
            lists.append([item for item in row if item < alphabet.items])
        at += rows * columns
    return lists


@pytest.mark.parametrize(
    ("length", "target"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 2), (6, 3), (7, 4), (9, 4), (59, 30)]
)
def test_the_target_is_the_second_half(length: int, target: int) -> None:
    assert target_lengths(np.array([length])).tolist() == [target] == [max(1, round(length / 2))]


@given(st.lists(st.integers(0, 10_000), max_size=80, unique=True), st.integers(1, 30), st.integers(0, 99))
def test_every_list_occurs_once_per_epoch(lists: list[int], size: int, seed: int) -> None:
    plan = epoch_plan(np.array(lists, dtype=np.int64), size, [seed, 0])
    assert sorted(np.concatenate(plan).tolist() if plan else []) == sorted(lists)
    assert all(len(batch) == size for batch in plan[:-1])
    assert all(1 <= len(batch) <= size for batch in plan)


def test_order_depends_on_seed_and_epoch() -> None:
    lists = np.arange(50)
    first, again, other = (np.concatenate(epoch_plan(lists, 7, [3, 0, epoch])) for epoch in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first, lists)


@given(st.lists(st.integers(1, 300), min_size=1, max_size=60))
def test_chunks_contain_every_list_and_save_padding(lengths: list[int]) -> None:
    of = np.array(lengths)
    chunks = length_chunks(of)
    assert sorted(np.concatenate(chunks).tolist()) == list(range(len(lengths)))
    assert 1 <= len(chunks) <= MAX_CHUNKS and all(len(chunk) for chunk in chunks)
    assert np.all(np.diff(of[np.concatenate(chunks)]) >= 0)
    padded = sum(len(chunk) * of[chunk].max() for chunk in chunks)
    assert padded <= len(lengths) * of.max()
    if len(set(lengths)) > 1:
        assert padded < len(lengths) * of.max()


def test_chunk_is_split_only_if_that_saves_enough_padding() -> None:
    lengths = np.array([2, 2, 2, 10])  # a split saves 3 * 8 tokens
    assert [chunk.tolist() for chunk in length_chunks(lengths, 23)] == [[0, 1, 2], [3]]
    assert [chunk.tolist() for chunk in length_chunks(lengths, 24)] == [[0, 1, 2, 3]]


def test_lists_of_equal_length_form_one_chunk() -> None:
    assert [chunk.tolist() for chunk in length_chunks(np.array([7, 7, 7]))] == [[0, 1, 2]]


lists_of_items = st.lists(st.lists(st.integers(0, 8), min_size=1, max_size=12), min_size=1, max_size=12)


@settings(deadline=None)
@given(lists_of_items, st.floats(0.05, 1.0), st.integers(0, 99))
def test_batch_contains_every_list_and_its_labels(lists: list[list[int]], ratio: float, seed: int) -> None:
    built = builder(corpus_of(lists, vocabulary_of([4, 5])), MaskingRates(hidden=0.4))
    batch = built.build(np.arange(len(lists)), ratio, [seed])
    assert sorted(whole_lists(batch, built.context.alphabet)) == sorted(lists)
    assert batch.lists == len(lists)
    assert batch.positions == len(batch.label_positions) == len(batch.labels)


@settings(deadline=None)
@given(lists_of_items, st.integers(1, 4), st.integers(0, 99))
def test_the_shares_of_the_processes_are_the_whole_batch(lists: list[list[int]], processes: int, seed: int) -> None:
    built = builder(corpus_of(lists, vocabulary_of([4, 5])))
    every = np.arange(len(lists))
    whole = built.build(every, 0.6, [seed])
    shares = [built.build(every, 0.6, [seed], share_of(every, rank, processes)) for rank in range(processes)]
    together = [row for share in shares for row in whole_lists(share, built.context.alphabet)]
    assert sorted(together) == sorted(lists)
    assert sorted(torch.cat([share.labels for share in shares]).tolist()) == sorted(whole.labels.tolist())
    assert {share.lists for share in shares} == {whole.lists}
    assert {share.positions for share in shares} == {whole.positions}


def test_process_reads_only_its_own_lists() -> None:
    corpus = walks()
    train = corpus.part("train")
    for rank in range(3):
        share = share_of(train, rank, 3)
        own = train[share.owns(train)]
        assert len(own) == len(train) // 3 and np.array_equal(own, train[len(own) * rank :][: len(own)])
        unreadable = np.full_like(corpus.items, 1 << 30)  # an item without a category
        own_items = slice(corpus.offsets[own[0]], corpus.offsets[own[-1] + 1])
        unreadable[own_items] = corpus.items[own_items]
        seen = builder(replace(corpus, items=unreadable)).build(train, 0.5, [0], share)
        assert same(seen, builder(corpus).build(train, 0.5, [0], share))


@pytest.mark.parametrize("classifier", ["two-stage", "vanilla"])
def test_process_without_lists_has_zero_loss_and_zero_gradients(classifier: str) -> None:
    corpus = walks()
    model = Fans(FansConfig(tuple(corpus.vocabulary.starts.tolist()), 20, width=8, heads=2, classifier=classifier))
    train = corpus.part("train")
    batch = builder(corpus).build(train[:4], 0.5, [0], share_of(train, 1, 2))
    assert len(batch.labels) == 0 and batch.lists == 4
    loss = model(batch).total
    loss.backward()
    assert loss.item() == 0
    assert all(weight.grad is not None and not weight.grad.any() for weight in model.parameters())


def same(one: Batch, other: Batch) -> bool:
    pairs = [(one.labels, other.labels), (one.label_positions, other.label_positions)]
    pairs += [(a.items, b.items) for a, b in zip(one.chunks, other.chunks, strict=True)]
    return all(torch.equal(*pair) for pair in pairs)


def test_batch_depends_on_the_seed() -> None:
    built = builder(walks())
    lists = np.arange(30)
    assert same(built.build(lists, 0.5, [0, 1, 2, 3]), built.build(lists, 0.5, [0, 1, 2, 3]))
    assert not same(built.build(lists, 0.5, [0, 1, 2, 3]), built.build(lists, 0.5, [0, 1, 3, 3]))


def test_list_of_one_item_is_masked_completely() -> None:
    built = builder(corpus_of([[2]], vocabulary_of([3])))
    batch = built.build(np.array([0]), 0.2, [0])
    assert batch.chunks[0].items.tolist() == [[5, 6, 4, 6]]  # CLS SEP MASK SEP
    assert batch.labels.tolist() == [2]


def test_without_random_masking_only_the_end_of_the_target_is_masked() -> None:
    built = builder(corpus_of([[0, 1, 2, 3, 4, 5, 6, 7], [1, 2]], vocabulary_of([4, 5])), NOTHING_AT_RANDOM)
    batch = built.build(np.array([0, 1]), 0.5, [0])
    assert sorted(batch.labels.tolist()) == [2, 6, 7]


def test_an_objective_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadSetting, match="no objective 'nextitem'; the objectives are continuation, completion"):
        BatchBuilder(walks(), Alphabet.of((0, 15, 30, 45, 60)), MaskingRates(), "nextitem")


def batches_of_walks() -> EpochBatches:
    corpus = walks()
    return EpochBatches(builder(corpus), corpus.part("train"), size=20, seed=3)


@pytest.mark.parametrize("done", [0, 3, 5])
def test_remaining_batches_are_those_that_are_built_directly(done: int) -> None:
    batches = batches_of_walks()
    plan = epoch_plan(batches.lists, 20, [3, 0, 7])
    built = list(batches.of_epoch(7, 0.5, done))
    assert [number for number, _ in built] == list(range(done, len(plan))) and len(plan) == len(batches) == 5
    for number, batch in built:
        assert same(batch, batches.builder.build(plan[number], 0.5, [3, 1, 7, number]))


def test_batches_are_built_in_one_other_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    batches, threads = batches_of_walks(), set()
    build = batches.builder.build

    def watched(*arguments: Any) -> Batch:
        threads.add(threading.get_ident())
        return build(*arguments)

    monkeypatch.setattr(batches.builder, "build", watched)
    assert len(list(batches.of_epoch(0, 0.5))) == 5
    assert len(threads) == 1 and threading.get_ident() not in threads


def test_error_while_a_batch_is_built_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = batches_of_walks()
    build = batches.builder.build

    def broken(lists: np.ndarray, ratio: float, seed: list[int], share: Share) -> Batch:
        if seed[-1] == 2:
            raise OSError("the disk is gone")
        return build(lists, ratio, seed, share)

    monkeypatch.setattr(batches.builder, "build", broken)
    epoch = batches.of_epoch(0, 0.5)
    assert [next(epoch)[0], next(epoch)[0]] == [0, 1]
    with pytest.raises(OSError, match="the disk is gone"):
        next(epoch)
