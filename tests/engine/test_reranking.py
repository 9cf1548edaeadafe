"""Re-ranking by diversity, popularity and freshness, on every backend that runs here."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.random_models import ITEMS, SIZES, STARTS, lists, random_model
from fansrec.engine.backends import open_engine
from fansrec.engine.interface import Continuation
from fansrec.engine.modes import generation_modes
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.engine.traits import ItemTraits
from fansrec.errors import BadSetting
from fansrec.vocabulary import Vocabulary

DAYS = [None if n % 7 == 0 else f"{1990 + n}-01-01" for n in range(ITEMS)]
VOCABULARY = Vocabulary(
    [f"i{n}" for n in range(ITEMS)],
    np.array(STARTS),
    groups=[f"artist {n % 5}" for n in range(ITEMS)],
    category_names=["a", "b", "c", "d"],
    dates=DAYS,
)
COUNTS = np.random.default_rng(3).integers(0, 500, ITEMS)
MODELS = {"fans": {"feedforward": 32}, "bert4rec": {"feedforward": 32}, "sasrec": {}}
CONTROLS = {"diversity": 0.6, "popularity": -0.4, "freshness": 0.3}


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> Any:
    return random_model(request.param, SIZES | MODELS[request.param])


def traits(model: Any) -> ItemTraits:
    return ItemTraits(model, VOCABULARY, COUNTS)


def same(left: list[Continuation], right: list[Continuation]) -> bool:
    """Return whether answers are equal to the last bit."""
    return all(
        a.tobytes() == b.tobytes() for one, two in zip(left, right, strict=True) for a, b in zip(one, two, strict=True)
    )


def engines(model: Any) -> list[Any]:
    return [
        open_engine(model, ITEMS, generation=mode, backend=backend)
        for mode in generation_modes(model)
        for backend in ("torch", "native")
    ]


@pytest.mark.usefixtures("native_kernel")
@pytest.mark.parametrize("fill", ["by-position", "depth-first"])
def test_answers_at_zero_are_byte_identical(model: Any, fill: str) -> None:
    inputs, counts = lists(6, most=9)
    zeros = Rules(fill=fill, diversity=0.0, popularity=-0.0, freshness=0, traits=traits(model))
    for engine in engines(model):
        plain = engine.continue_lists(inputs, counts, Rules(fill=fill))
        assert same(engine.continue_lists(inputs, counts, zeros), plain)


@pytest.mark.usefixtures("native_kernel")
@pytest.mark.parametrize(
    ("fill", "name"), [*(("by-position", name) for name in CONTROLS), ("depth-first", "diversity")]
)
def test_answers_near_zero_are_those_of_the_model(model: Any, fill: str, name: str) -> None:
    """The candidates begin with the model's own answer, from as many positions as were requested."""
    inputs, counts = lists(4, most=7)
    little = Rules(fill=fill, traits=traits(model), **{name: 1e-9})
    for engine in engines(model):
        plain = engine.continue_lists(inputs, counts, Rules(fill=fill))
        for answer, right in zip(engine.continue_lists(inputs, counts, little), plain, strict=True):
            assert answer.items.tolist() == right.items.tolist()
            np.testing.assert_allclose(answer.scores, right.scores, rtol=1e-5)


@pytest.mark.usefixtures("native_kernel")
def test_backends_give_the_same_items(model: Any) -> None:
    inputs, counts = lists(8, most=9)
    rules = Rules(traits=traits(model), max_per_group=2, groups=VOCABULARY.group_indices, **CONTROLS)
    for mode in generation_modes(model):
        by_torch, by_kernel = (
            open_engine(model, ITEMS, generation=mode, backend=backend).continue_lists(inputs, counts, rules)
            for backend in ("torch", "native")
        )
        assert [one.items.tolist() for one in by_torch] == [one.items.tolist() for one in by_kernel]


@pytest.mark.parametrize(
    "plain",
    [
        Rules(),
        Rules(keep_seen=True),
        Rules(allow=range(5, 24), exclude=[12, 13]),
        Rules(allow=[]),
        Rules(groups=VOCABULARY.group_indices, max_per_group=1),
        Rules(min_score=-3.5),
    ],
    ids=["none", "seen kept", "few allowed", "nothing allowed", "one per group", "a floor"],
)
def test_rules_are_respected_and_answers_have_as_many_items(model: Any, plain: Rules) -> None:
    inputs, counts = lists(8, most=20)
    controlled = replace(plain, traits=traits(model), **CONTROLS)
    for mode in generation_modes(model):
        engine = TorchEngine(model, ITEMS, generation=mode)
        own, controlled_answers = (engine.continue_lists(inputs, counts, rules) for rules in (plain, controlled))
        for items_given, answer, right in zip(inputs, controlled_answers, own, strict=True):
            items = answer.items.tolist()
            assert len(set(items)) == len(items) == len(right.items)
            assert plain.keep_seen or not set(items) & set(items_given.tolist())
            assert not set(items) & set(plain.exclude)
            assert plain.allow is None or set(items) <= set(plain.allow)
            if plain.max_per_group is not None:
                assert np.bincount(VOCABULARY.group_indices[items]).max(initial=0) <= plain.max_per_group
            if plain.min_score is not None:
                assert (answer.scores >= plain.min_score).all()


INDICES = st.lists(st.integers(0, ITEMS - 1), max_size=12)
SHARES = st.floats(0, 1)


@settings(max_examples=20, deadline=None)
@given(
    items=INDICES,
    k=st.integers(1, 15),
    exclude=INDICES,
    allow=st.none() | INDICES,
    most=st.none() | st.integers(1, 3),
    keep_seen=st.booleans(),
    controls=st.fixed_dictionaries({"diversity": SHARES, "popularity": st.floats(-1, 1), "freshness": SHARES}),
)
def test_any_controls_and_rules_give_as_many_allowed_items(
    model: Any, items: Any, k: int, exclude: Any, allow: Any, most: Any, keep_seen: bool, controls: Any
) -> None:
    engine, array = TorchEngine(model, ITEMS), np.array(items, dtype=np.int64)
    plain = Rules(exclude, allow, keep_seen, most, groups=VOCABULARY.group_indices)
    rules = replace(plain, traits=traits(model), **controls)
    (own,), (answer,), (again,) = (engine.continue_lists([array], k, one) for one in (plain, rules, rules))
    found = answer.items.tolist()
    assert len(set(found)) == len(found) == len(own.items) and found == again.items.tolist()
    allowed = set(range(ITEMS) if allow is None else allow) - set(exclude) - set(() if keep_seen else items)
    assert set(found) <= allowed
    assert most is None or np.bincount(VOCABULARY.group_indices[found]).max(initial=0) <= most


def test_answers_do_not_depend_on_the_other_lists(model: Any) -> None:
    inputs, counts = lists(5, most=9)
    engine, rules = TorchEngine(model, ITEMS), Rules(traits=traits(model), **CONTROLS)
    together = engine.continue_lists(inputs, counts, rules)
    alone = [engine.continue_lists([given], k, rules)[0] for given, k in zip(inputs, counts, strict=True)]
    assert [one.items.tolist() for one in together] == [one.items.tolist() for one in alone]


def test_each_control_moves_answers_in_its_direction(model: Any) -> None:
    inputs, known = lists(12, most=2)[0], traits(model)
    engine = TorchEngine(model, ITEMS)

    def means(**controls: float) -> tuple[float, float, float]:
        """Return the mean number of groups, the mean count and the mean day of answers of 5 items."""
        answers = [one.items for one in engine.continue_lists(inputs, 5, Rules(traits=known, **controls))]
        groups = np.mean([len(set(VOCABULARY.group_indices[items])) for items in answers])
        return float(groups), float(COUNTS[answers].mean()), float(np.nanmean(VOCABULARY.days[answers]))

    groups, count, day = means()
    assert means(diversity=0.9)[0] > groups
    assert means(popularity=-0.9)[1] < count < means(popularity=0.9)[1]
    assert means(freshness=0.9)[2] > day


@pytest.mark.parametrize(
    ("name", "value"), [("diversity", 1.1), ("diversity", -0.1), ("popularity", -2), ("freshness", float("nan"))]
)
def test_values_out_of_range_are_refused(model: Any, name: str, value: float) -> None:
    with pytest.raises(BadSetting, match=f"{name} is {value}; it must be from -?[01] to 1"):
        Rules(traits=traits(model), **{name: value})


def test_freshness_without_dates_is_refused(model: Any) -> None:
    undated = ItemTraits(model, replace(VOCABULARY, dates=None), COUNTS)
    with pytest.raises(BadSetting, match="freshness needs dates of items"):
        Rules(freshness=0.5, traits=undated)


def test_popularity_without_counts_is_refused(model: Any) -> None:
    with pytest.raises(BadSetting, match="popularity needs the number of training lists"):
        Rules(popularity=0.5, traits=ItemTraits(model, VOCABULARY, None))
