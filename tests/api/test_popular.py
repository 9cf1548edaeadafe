"""Popular items for lists of which no item is known: a ranking by hand is the reference."""

from pathlib import Path

import numpy as np
import pytest

from artifacts import reseal, write_kind
from fansrec.api.continuer import load
from fansrec.api.popular import allowed_items
from fansrec.api.unknown import UNKNOWN
from fansrec.artifact import COUNTS, read_artifact
from fansrec.engine.rules import Rules
from fansrec.errors import BadArtifact, BadSetting, UnknownItems

ORDER = np.array([4, 1, 2, 5, 0, 3])
GROUPS = np.array([0, 1, 1, 2, 0, 0])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_kind(tmp_path_factory.mktemp("popular") / "run", "ease")


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (Rules(), [4, 1, 2, 5]),
        (Rules(exclude=[1, 4]), [2, 5, 0, 3]),
        (Rules(allow=[3, 0, 4]), [4, 0, 3]),
        (Rules(allow=[3, 0, 4], exclude=[4]), [0, 3]),
        (Rules(max_per_group=1, groups=GROUPS), [4, 1, 3]),
        (Rules(max_per_group=2, groups=GROUPS), [4, 1, 2, 5]),
        (Rules(min_score=100.0), [4, 1, 2, 5]),
    ],
)
def test_popular_items_obey_the_rules(rules: Rules, expected: list[int]) -> None:
    assert allowed_items(ORDER, rules).tolist()[:4] == expected


def test_list_of_unknown_items_gets_a_reason_beside_others(run: Path) -> None:
    cold, warm = load(run).continue_lists([["nobody", 7], ["i1"]], 3)
    assert (cold.items, cold.unknown, cold.reason, cold.fallback) == ([], ["nobody", 7], UNKNOWN, None)
    assert len(warm.items) == 3 and warm.reason is None and warm.fallback is None


def test_single_list_of_unknown_items_is_refused_without_a_fallback(run: Path) -> None:
    with pytest.raises(UnknownItems, match="no item of the list is known to this model: nobody"):
        load(run).continue_lists([["nobody"]])


def test_fallback_gives_the_items_of_most_training_lists(run: Path) -> None:
    continuer = load(run)
    counts = continuer.artifact.counts
    assert counts is not None
    cold, warm = continuer.continue_lists([["nobody"], ["i1"]], 5, exclude=["i3"], fallback="popular")
    best = [index for index in np.argsort(-counts, kind="stable").tolist() if index != 3][:5]
    assert cold.items == [continuer.vocabulary.id(index) for index in best]
    assert [p.score for p in cold.positions] == pytest.approx(counts[best] / counts.sum())
    assert [p.category for p in cold.positions] == [continuer.vocabulary.category(index) for index in best]
    assert cold.fallback == "popular" and cold.unknown == ["nobody"] and str(cold.reason).startswith(UNKNOWN)
    assert warm == continuer.continue_lists([["i1"]], 5, exclude=["i3"])[0]


def test_reason_also_says_that_the_rules_leave_too_few_popular_items(run: Path) -> None:
    (answer,) = load(run).continue_lists([["nobody"]], 5, allow=["i1", "i2"], min_score=9.0, fallback="popular")
    assert len(answer.items) == 2
    assert str(answer.reason).endswith("only 2 of 5 items are left under the rules (allow, the items of the input)")


def test_unknown_fallback_is_refused(run: Path) -> None:
    with pytest.raises(BadSetting, match="fallback is 'best'; it can be none or popular"):
        load(run).continue_lists([["i1"]], fallback="best")


@pytest.mark.parametrize("kind", ["popularity", "fans"])
def test_model_without_counts_gives_the_continuation_of_an_empty_list(tmp_path: Path, kind: str) -> None:
    folder = write_kind(tmp_path / "old", kind)
    (folder / COUNTS).unlink()
    reseal(folder)
    continuer = load(folder)
    assert continuer.artifact.counts is None
    cold, empty = continuer.continue_lists([["nobody"], []], 4, exclude=["i2"], fallback="popular")
    assert cold.items == empty.items and cold.fallback == "popular" and empty.fallback is None


@pytest.mark.parametrize("content", ["[1, 2]", "{}", "[" + "-1," * 59 + "1]", "[" + "1.5," * 59 + "1]", "[", "[[1]]"])
def test_damaged_counts_are_refused(tmp_path: Path, content: str) -> None:
    folder = write_kind(tmp_path / "run", "ease")
    (folder / COUNTS).write_text(content)
    reseal(folder)
    with pytest.raises(BadArtifact, match="train it again"):
        read_artifact(folder)


def test_counts_that_the_manifest_does_not_have_are_not_read(tmp_path: Path) -> None:
    folder = write_kind(tmp_path / "run", "ease")
    content = (folder / COUNTS).read_bytes()
    (folder / COUNTS).unlink()
    reseal(folder)
    (folder / COUNTS).write_bytes(content)
    assert read_artifact(folder).counts is None
