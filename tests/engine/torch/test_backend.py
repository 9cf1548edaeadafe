from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from fansrec.engine.interface import Continuation
from fansrec.engine.rules import Rules
from fansrec.engine.torch import backend as torch_backend
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadSetting
from fansrec.models.config import ItemsConfig
from fansrec.models.fans import Fans, FansConfig
from fansrec.models.linear.popularity import Popularity
from worlds import vocabulary_of

VOCABULARY = vocabulary_of([15] * 4)
CONFIG = FansConfig(
    category_starts=tuple(VOCABULARY.starts.tolist()),
    positions=23,
    width=16,
    layers=2,
    heads=2,
    feedforward=32,
    dropout=0.1,
)
ITEMS = len(VOCABULARY)
GROUPS = np.arange(ITEMS) % 7


def engine(classifier: str = "two-stage") -> TorchEngine:
    """Return an engine whose weights are large enough that its answers differ from list to list."""
    torch.manual_seed(0)
    model = Fans(replace(CONFIG, classifier=classifier))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1 and "embed" not in name:
                parameter.normal_(std=0.3)
    return TorchEngine(model.eval(), ITEMS)


@pytest.fixture(scope="module", params=["two-stage", "vanilla"])
def fans(request: pytest.FixtureRequest) -> TorchEngine:
    return engine(request.param)


def random_lists(count: int, seed: int = 0) -> tuple[list[NDArray[np.int64]], list[int]]:
    random = np.random.default_rng(seed)
    inputs = [random.integers(ITEMS, size=random.integers(0, 20)) for _ in range(count)]
    return inputs, random.integers(1, 13, size=count).tolist()


def assert_same(one: Continuation, other: Continuation) -> None:
    assert one.items.tolist() == other.items.tolist()
    np.testing.assert_allclose(one.scores, other.scores, rtol=1e-4, atol=1e-4)


RULES = {
    "seen kept": Rules(keep_seen=True),
    "groups": Rules(groups=GROUPS, max_per_group=2),
    "few allowed": Rules(allow=range(10, 25), exclude=[12, 13]),
    "depth first": Rules(fill="depth-first"),
    "depth first, groups": Rules(fill="depth-first", groups=GROUPS, max_per_group=2),
}


def test_answers_do_not_depend_on_padding(fans: TorchEngine) -> None:
    inputs, k = random_lists(200)
    together = fans.continue_lists(inputs, k, Rules())
    assert len({answer.items.tobytes() for answer in together}) > 100  # they do depend on the list
    for items, count, answer in zip(inputs, k, together, strict=True):
        assert_same(answer, fans.continue_lists([items], count, Rules())[0])


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_answers_under_rules_do_not_depend_on_the_batch(fans: TorchEngine, rules: Rules) -> None:
    inputs, k = random_lists(30)
    together = fans.continue_lists(inputs, k, rules)
    for items, count, answer in zip(inputs, k, together, strict=True):
        assert_same(answer, fans.continue_lists([items], count, rules)[0])


@pytest.mark.parametrize(("tokens", "lists"), [(1, 256), (60, 256), (1 << 14, 3)])
def test_answers_do_not_depend_on_batch_sizes(
    fans: TorchEngine, tokens: int, lists: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, k = random_lists(60, seed=1)
    before = fans.continue_lists(inputs, k, Rules())
    monkeypatch.setattr(torch_backend, "TOKENS_AT_ONCE", tokens)
    monkeypatch.setattr(torch_backend, "LISTS_AT_ONCE", lists)
    for one, other in zip(before, fans.continue_lists(inputs, k, Rules()), strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("fill", ["by-position", "depth-first"])
def test_ties_do_not_depend_on_the_batch(fill: str) -> None:
    rules = Rules(fill=fill)
    model = Popularity(ItemsConfig((0, ITEMS)))
    model.counts = (torch.arange(ITEMS) % 3 + 1).float()
    popular = TorchEngine(model, ITEMS)
    inputs, k = random_lists(50)
    for items, count, answer in zip(inputs, k, popular.continue_lists(inputs, k, rules), strict=True):
        assert_same(answer, popular.continue_lists([items], count, rules)[0])


def test_every_list_gets_exactly_k_distinct_items(fans: TorchEngine) -> None:
    inputs, k = random_lists(100, seed=2)
    for items, count, answer in zip(inputs, k, fans.continue_lists(inputs, k, Rules()), strict=True):
        assert len(answer.items) == len(answer.scores) == len(set(answer.items.tolist())) == count
        assert not set(answer.items.tolist()) & set(items.tolist())


def test_an_empty_input_continues_from_mask_tokens_alone(fans: TorchEngine) -> None:
    empty = np.array([], dtype=np.int64)
    alone, beside = fans.continue_lists([empty], 5, Rules())[0], fans.continue_lists([np.arange(9), empty], 5, Rules())
    assert len(set(alone.items.tolist())) == 5
    assert_same(alone, beside[1])


def test_empty_call_returns_no_answers(fans: TorchEngine) -> None:
    assert fans.continue_lists([], 5, Rules()) == []


def test_answers_can_be_longer_than_any_trained_list(fans: TorchEngine) -> None:
    (answer,) = fans.continue_lists([np.arange(10)], 50, Rules())
    assert sorted(answer.items.tolist()) == list(range(10, 60))


def test_answers_are_shorter_if_the_rules_leave_fewer_items(fans: TorchEngine) -> None:
    first, second = fans.continue_lists([np.arange(10), np.arange(58)], 55, Rules())
    assert len(first.items) == 50
    assert sorted(second.items.tolist()) == [58, 59]
    allowed = fans.continue_lists([np.arange(10)], 5, Rules(allow=[3, 40, 50]))[0]
    assert sorted(allowed.items.tolist()) == [40, 50]
    assert fans.continue_lists([np.arange(10)], 5, Rules(allow=[3]))[0].items.tolist() == []


def test_lists_over_the_length_limit_are_refused(fans: TorchEngine) -> None:
    limit = fans.model.longest_sequence()
    assert limit is not None
    items = np.zeros(limit - 9, dtype=np.int64)
    assert len(fans.continue_lists([items], 9, Rules())[0].items) == 9
    with pytest.raises(BadSetting, match=rf"{limit - 9} items and 10 more are over this model's limit of {limit}; ask"):
        fans.continue_lists([np.arange(3), items], 10, Rules())


@pytest.mark.parametrize("k", [0, -3, [2, 0]])
def test_k_below_one_is_refused(fans: TorchEngine, k: int | list[int]) -> None:
    with pytest.raises(BadSetting, match="at least one item"):
        fans.continue_lists([np.arange(3), np.arange(4)], k, Rules())


def test_input_items_are_answered_only_with_keep_seen(fans: TorchEngine) -> None:
    inputs = [np.arange(start, start + 15) for start in range(0, 60, 3) if start <= 45]
    without = fans.continue_lists(inputs, 15, Rules())
    kept = fans.continue_lists(inputs, 15, Rules(keep_seen=True))
    seen = [np.isin(answer.items, items) for items, answer in zip(inputs, without, strict=True)]
    again = [np.isin(answer.items, items) for items, answer in zip(inputs, kept, strict=True)]
    assert not np.any(seen) and np.any(again)


@pytest.mark.parametrize("fill", ["by-position", "depth-first"])
def test_max_per_group_is_respected(fans: TorchEngine, fill: str) -> None:
    inputs, _ = random_lists(20)
    for answer in fans.continue_lists(inputs, 10, Rules(groups=GROUPS, max_per_group=2, fill=fill)):
        assert np.bincount(GROUPS[answer.items]).max() <= 2 and len(answer.items) == 10


def test_min_score_is_respected(fans: TorchEngine) -> None:
    inputs, _ = random_lists(20)
    floor = float(np.median(np.concatenate([a.scores for a in fans.continue_lists(inputs, 8, Rules())])))
    limited = fans.continue_lists(inputs, 8, Rules(min_score=floor))
    assert min(score for answer in limited for score in answer.scores) >= floor
    assert 0 < sum(len(answer.items) for answer in limited) < 8 * len(inputs)


def test_the_model_is_not_modified(fans: TorchEngine) -> None:
    before = {name: tensor.clone() for name, tensor in fans.model.state_dict().items()}
    fans.continue_lists([np.arange(5)], 5, Rules())
    assert all(torch.equal(before[name], tensor) for name, tensor in fans.model.state_dict().items())
