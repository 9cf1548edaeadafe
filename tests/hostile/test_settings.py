"""Settings that a correctly sealed folder may hold and that must neither be believed nor cost memory."""

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from artifacts import KINDS, change_json, change_settings, read_settings
from fansrec.artifact import read_artifact
from fansrec.engine.sharded.loading import describe
from fansrec.errors import BadArtifact
from fansrec.models.limits import LARGEST

Copy = Callable[[str], Path]
NOT_INTEGERS = [True, 2.5, "2", None, [2], 10**3000]
NOT_NUMBERS = [True, "2", None, [2], float("nan"), float("inf"), -float("inf"), 1e300, 10**3000]
WRONG = {int: NOT_INTEGERS, float: NOT_NUMBERS, str: [2, None, ["x"], "unknown"], bool: [1, "true", None]}


@pytest.mark.parametrize("kind", KINDS)
def test_setting_of_another_type_is_refused(copy_of: Copy, kind: str) -> None:
    for name, value in read_settings(copy_of(kind)).items():
        folder = copy_of(kind)
        for wrong in WRONG.get(type(value), []):
            change_settings(folder, **{name: wrong})
            with pytest.raises(BadArtifact, match=f"does not hold a model this fansrec can build .*{name} is "):
                read_artifact(folder)


@pytest.mark.parametrize("starts", [[], [0], [0, 15, 15, 45, 60], [0, 30, 15, 45, 60], [1, 60], [0, 15, 30, 45, 60.0], [False, 15, 30, 45, 60], [0, 2**70], [0, 2**40], ["0", 60], "0", None, {}])  # fmt: skip # noqa: E501
@pytest.mark.parametrize("kind", ["fans", "best", "popularity", "ease"])
def test_starts_that_do_not_rise_are_refused(copy_of: Copy, kind: str, starts: Any) -> None:
    folder = copy_of(kind)
    change_settings(folder, category_starts=starts)
    with pytest.raises(BadArtifact):
        read_artifact(folder)
    change_json(folder, lambda content: content.update(starts=starts), "categories.json")
    with pytest.raises(BadArtifact):
        read_artifact(folder)
    if kind == "fans":
        with pytest.raises(BadArtifact, match="category_starts is"):
            describe(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_setting_above_its_limit_is_refused_by_name(copy_of: Copy, kind: str) -> None:
    for name in LARGEST.keys() & read_settings(copy_of(kind)):
        folder = copy_of(kind)
        for value in (LARGEST[name] + 1, 2**63, 10**30):
            change_settings(folder, **{name: value})
            with pytest.raises(BadArtifact, match=f"{name} is .*; it can be at most {LARGEST[name]:,}"):
                read_artifact(folder)


@pytest.mark.parametrize("kind", ["fans", "best", "bert4rec", "sasrec", "car", "gru4rec", "caser"])
def test_largest_allowed_setting_costs_no_memory_if_the_weights_are_small(copy_of: Copy, kind: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    limited = LARGEST.keys() & read_settings(copy_of(kind))
    for name in limited - {"heads", "positions"}:  # not every model has tensors of these shapes
        folder = copy_of(kind)
        change_settings(folder, **{name: LARGEST[name]})
        with pytest.raises(BadArtifact, match=r"model.safetensors"):
            read_artifact(folder)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kilobytes


@pytest.mark.parametrize("name", ["positions", "memory_lists", "memory_items", "linear_neighbours", "layers", "width"])
def test_negative_size_is_refused(copy_of: Copy, name: str) -> None:
    folder = copy_of("best")
    change_settings(folder, **{name: -1})
    with pytest.raises(BadArtifact, match=f"{name} is -1; it must"):
        read_artifact(folder)


@pytest.mark.parametrize("change", [{"model": ["fans"]}, {"model": None}, {"model": 3}, {"config": []}, {"config": "x"}, {"training": []}, {"training": "best"}, {"training": None}, {"training": {"recipe": 3}}, {"training": {"recipe": ["best"]}}])  # fmt: skip # noqa: E501
def test_parts_of_the_config_of_another_type_are_refused(copy_of: Copy, change: dict[str, Any]) -> None:
    folder = copy_of("fans")
    change_json(folder, lambda content: content.update(change))
    for read in (read_artifact, describe):
        with pytest.raises(BadArtifact):
            read(folder)


@pytest.mark.parametrize("section", ["network", "memory", "linear", "weights"])
def test_section_of_another_type_is_refused(copy_of: Copy, section: str) -> None:
    for wrong in ([], "x", 3, None, True, [["width", 8]]):
        folder = copy_of("best")
        change_json(folder, lambda content, wrong=wrong: content["config"].update({section: wrong}))
        with pytest.raises(BadArtifact, match=f"{section} is .*; it must be an object with settings"):
            read_artifact(folder)


@pytest.mark.parametrize("section", ["network", "memory", "linear", "weights"])
def test_unknown_setting_in_a_section_is_refused(copy_of: Copy, section: str) -> None:
    folder = copy_of("best")
    change_json(folder, lambda content: content["config"][section].update(unknown=1))
    with pytest.raises(BadArtifact, match="does not hold a model this fansrec can build .*unknown"):
        read_artifact(folder)


def test_unknown_setting_is_refused_in_one_printable_line(copy_of: Copy) -> None:
    folder = copy_of("fans")
    change_settings(folder, **{"x\x1b[31m\nfans: all is well": 1})
    with pytest.raises(BadArtifact) as refused:
        read_artifact(folder)
    assert str(refused.value).isprintable()
