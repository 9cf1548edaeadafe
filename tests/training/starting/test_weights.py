"""The weights that a started training run begins with."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from artifacts import KINDS, write_kind
from fansrec.artifact import Artifact, read_artifact
from fansrec.data.corpus import Corpus
from fansrec.models.hybrid.model import HybridFans
from fansrec.models.registry import entry
from fansrec.training.starting.plan import started_plan
from fansrec.training.starting.weights import started_weights
from fansrec.updating.changes import SetList
from fansrec.updating.update import update, write_updated
from fansrec.vocabulary import Vocabulary
from worlds import corpus_of, vocabulary_of, walks

WALKS = replace(walks(lists=40), parts=np.zeros(40, dtype=np.uint8))
BY_GRADIENT = [kind for kind, (name, _) in KINDS.items() if hasattr(entry(name).model, "objective")]


def reordered(corpus: Corpus, seed: int = 1) -> Corpus:
    """Return the same lists with the categories, and the items of each category, in another order."""
    random, old = np.random.default_rng(seed), corpus.vocabulary
    categories = random.permutation(len(old.starts) - 1)
    items = np.concatenate([random.permutation(np.flatnonzero(old.categories == one)) for one in categories])
    vocabulary = Vocabulary(
        ids=[old.ids[item] for item in items.tolist()],
        starts=np.concatenate([[0], np.cumsum(np.diff(old.starts)[categories])]),
        category_names=[old.category_names[one] for one in categories.tolist()],
    )
    return replace(corpus, items=np.argsort(items)[corpus.items].astype(np.int32), vocabulary=vocabulary)


def started(run: Artifact, corpus: Corpus) -> Any:
    """Return the network that continues `run` on a corpus, before its first step."""
    network = started_plan(run.folder, None, {}, corpus)[0].build()
    network.load_state_dict(started_weights(run, network, corpus))
    return network.eval()


def next_scores(network: Any, items: list[int]) -> torch.Tensor:
    """Return the scores (M,) of the next item by the network alone."""
    inputs = [np.array(items, dtype=np.int64)]
    with torch.inference_mode():
        if isinstance(network, HybridFans):
            return network.network_scores(inputs, [3])[0]
        if hasattr(network, "score_next"):
            return network.score_next(inputs)[0]
        return torch.stack([network.score_positions(inputs, [1])(0, 1, rank)[0, 0] for rank in range(network.ranks)])


def test_weights_that_an_update_lowered_start_as_they_were_trained(tmp_path: Path) -> None:
    run = read_artifact(write_kind(tmp_path / "run", "best", WALKS))
    lists = [SetList(f"a{n}", ("i1", "i2")) for n in range(run.remembered_lists)]
    updated, _ = update(run, lists)
    write_updated(tmp_path / "updated", updated)
    before, after = (run.stored.config.weights, updated.stored.config.weights)
    assert 0 < after.network < before.network
    plan, _ = started_plan(tmp_path / "updated", None, {}, WALKS)
    assert plan.config["weights"] == vars(before)


@pytest.mark.parametrize("kind", BY_GRADIENT)
def test_started_network_scores_items_as_the_trained_one_whatever_their_indices(tmp_path: Path, kind: str) -> None:
    run = read_artifact(write_kind(tmp_path / "run", kind, WALKS))
    corpus = reordered(WALKS)
    moved = [corpus.vocabulary.find(id_) for id_ in run.vocabulary.ids]
    network = started(run, corpus)
    for items in ([0, 1, 2], [40, 41, 3, 7, 7]):
        expected = next_scores(run.model.eval(), items)
        found = next_scores(network, [moved[item] for item in items])[..., moved]  # type: ignore[misc]
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def grown() -> Corpus:
    """Return the lists of WALKS, in which a new item follows item 0 wherever that is, and one that is in no list."""
    lists = [WALKS.list(index).tolist() for index in range(len(WALKS))]
    ids = [*WALKS.vocabulary.ids, "new", "unseen"]
    old = len(WALKS.vocabulary)
    lists = [[other for item in items for other in ([item, old] if item == 0 else [item])] for items in lists]
    sizes = np.diff(WALKS.vocabulary.starts).tolist()
    return corpus_of(lists, vocabulary_of([*sizes[:-1], sizes[-1] + 2], ids))


@pytest.mark.parametrize("kind", BY_GRADIENT)
def test_new_item_gets_a_vector_near_the_items_of_its_lists(tmp_path: Path, kind: str) -> None:
    run, corpus = read_artifact(write_kind(tmp_path / "run", kind, WALKS)), grown()
    vectors = started(run, corpus).state_dict()["embed.items.weight"]
    old = run.model.state_dict()["embed.items.weight"]
    assert torch.equal(vectors[: len(WALKS.vocabulary)], old[: len(WALKS.vocabulary)])
    assert torch.equal(vectors[-4:], old[-4:])  # the special tokens
    new, first = vectors[len(WALKS.vocabulary)], slice(0, 15)  # item 0 and its lists are in the first category
    similarity = torch.cosine_similarity(new, vectors[first]).mean()
    assert similarity > torch.cosine_similarity(new, vectors[15:60]).mean() + 0.1
    assert vectors.isfinite().all() and vectors[len(WALKS.vocabulary) + 1].any()


def test_category_of_new_items_only_starts_as_a_mean_category(tmp_path: Path) -> None:
    run = read_artifact(write_kind(tmp_path / "run", "best", WALKS))
    sizes = [*np.diff(WALKS.vocabulary.starts).tolist(), 1]
    lists = [[*WALKS.list(index).tolist(), 60] for index in range(len(WALKS))]
    weights = started(run, corpus_of(lists, vocabulary_of(sizes))).state_dict()
    old = run.model.state_dict()["tied.category.weight"]
    torch.testing.assert_close(weights["tied.category.weight"], torch.cat([old, old.mean(0, keepdim=True)]))


def test_positions_of_longer_lists_start_as_the_last_trained_one(tmp_path: Path) -> None:
    run = read_artifact(write_kind(tmp_path / "run", "best", WALKS))
    longer = corpus_of([[*range(40)], [1, 2, 3]], WALKS.vocabulary)
    old = run.model.state_dict()["embed.positions.weight"]
    found = started(run, longer).state_dict()["embed.positions.weight"]
    assert len(found) == 43 and torch.equal(found[: len(old)], old)
    assert torch.equal(found[len(old) :], old[-1:].expand(43 - len(old), -1))


def test_shorter_lists_keep_all_trained_positions(tmp_path: Path) -> None:
    run = read_artifact(write_kind(tmp_path / "run", "best", WALKS))
    shorter = corpus_of([[1, 2, 3], [2, 3, 4]], WALKS.vocabulary)
    assert torch.equal(
        started(run, shorter).state_dict()["embed.positions.weight"], run.model.state_dict()["embed.positions.weight"]
    )
