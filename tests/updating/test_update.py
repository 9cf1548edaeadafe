"""The result of updates depends on the final lists and descriptions alone, and removed lists leave no trace."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from artifacts import write_kind
from fansrec import load
from fansrec.artifact import Artifact, read_artifact
from fansrec.errors import BadArtifact, BadInput, BadSetting
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.updating.borrowed import without_borrowed
from fansrec.updating.changes import Change, RemoveList, SetItem, SetList
from fansrec.updating.memory import NAMES, Memory
from fansrec.updating.update import update, write_updated

LISTS = st.sampled_from(["l0", "l1", "l39", "a", "b", "c"])
ITEMS = st.lists(st.sampled_from(["i0", "i1", "i17", "i59", "n1", "n2", "n3"]), min_size=1, max_size=5)
SET = st.builds(lambda id_, items: SetList(id_, tuple(items), f"title of {id_}"), LISTS, ITEMS)
DESCRIBED = st.builds(
    SetItem,
    st.sampled_from(["i0", "n1", "n4"]),
    name=st.sampled_from([None, "Song number 3"]),
    group=st.sampled_from([None, "artist 1"]),
    category=st.sampled_from([None, "c2"]),
    date=st.sampled_from([None, "2026-01-31"]),
)
TRAINED = {"network_weight": 0.1, "linear_weight": 0.3, "trained_lists": 1}
CHANGES = st.lists(st.one_of(SET, st.builds(RemoveList, LISTS), DESCRIBED), max_size=8)


def content(artifact: Artifact) -> dict[str, bytes]:
    """Return everything of an artifact that is written to files, as bytes."""
    arrays = {name: array.tobytes() for name, array in artifact.stored.arrays.items()}
    assert artifact.list_names is not None and artifact.counts is not None
    names = {"lists": artifact.list_names.file(), "counts": artifact.counts.tobytes()}
    return arrays | names | artifact.vocabulary.files() | {"config": repr(artifact.config).encode()}


def one_by_one(artifact: Artifact, changes: list[Change]) -> Artifact:
    for change in changes:
        artifact, _ = update(artifact, [change])
    return artifact


def lists_of(artifact: Artifact) -> dict[str | None, list[str]]:
    """Return the distinct items of every list, by the ids of the lists, oldest first."""
    arrays, ids = artifact.stored.arrays, list(artifact.vocabulary.ids)
    starts = arrays["memory.starts"]
    items = [ids[item] for item in arrays["memory.items"].tolist()]
    assert artifact.list_names is not None
    return {id_: items[starts[n] : starts[n + 1]] for n, id_ in enumerate(artifact.list_names.ids)}


def shortest_way(changes: list[Change]) -> list[Change]:
    """Return changes to the same final state without anything that is undone later."""
    last: dict[str | None, Change] = {}
    described: dict[object, SetItem] = {}
    for change in changes:
        if isinstance(change, SetItem):
            before = described.get(change.id, SetItem(change.id))
            fields = ("name", "group", "category", "date")
            described[change.id] = SetItem(change.id, *(getattr(change, f) or getattr(before, f) for f in fields))
        else:
            last.pop(change.id, None)
            last[change.id] = change
    return [*sorted(described.values(), key=lambda one: str(one.id), reverse=True), *last.values()]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=CHANGES)
def test_updates_one_by_one_equal_one_update_to_the_final_state(hybrid: Artifact, changes: list[Change]) -> None:
    found = content(one_by_one(one_by_one(hybrid, [SetItem("i3", name="x")]), changes))
    expected, _ = update(hybrid, [SetItem("i3", name="x"), *shortest_way(changes)])
    assert found == content(expected)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=CHANGES)
def test_memory_equals_the_memory_learned_from_the_final_lists(vstan: Artifact, changes: list[Change]) -> None:
    expected = {id_: [*items] for id_, items in lists_of(vstan).items()}
    places: dict[str | None, list[str]] = {}
    for change in changes:
        if isinstance(change, SetItem):
            continue
        expected.pop(change.id, None)
        if isinstance(change, SetList):
            expected[change.id] = places[change.id] = [str(item) for item in change.items]
    found, _ = update(vstan, changes)
    index = {id_: n for n, id_ in enumerate(found.vocabulary.ids)}
    flat = np.array([index[item] for items in expected.values() for item in items], dtype=np.int32)
    offsets = np.cumsum([0, *map(len, expected.values())])
    learned = ListMemory.of(len(index), flat, offsets)
    held = Memory(**{name: found.stored.arrays[f"memory.{name}"] for name in NAMES})
    borrowed = [index[id_] for id_ in found.config["updates"]["borrowed"]]
    memory = without_borrowed(held, np.array(borrowed, dtype=np.int64))
    for name in NAMES:
        assert getattr(memory, name).tobytes() == getattr(learned, name).numpy().tobytes(), name
    assert found.list_names is not None and list(found.list_names.ids) == [*expected]


def test_removed_list_leaves_no_trace(hybrid: Artifact) -> None:
    other = SetList("b", ("i1", "n2"))
    never, _ = update(hybrid, [other])
    added, _ = update(hybrid, [SetList("a", ("i5", "n1"), "secret")])
    both, _ = update(added, [other])
    removed, report = update(both, [RemoveList("a")])
    assert content(removed) == content(never)
    assert (report.lists_removed, report.items_removed) == (1, 1)


def test_removing_all_that_was_added_restores_the_trained_arrays(hybrid: Artifact) -> None:
    added, _ = update(hybrid, [SetList("a", ("i5", "n1"))])
    removed, _ = update(added, [RemoveList("a")])
    for name, array in hybrid.stored.arrays.items():
        assert removed.stored.arrays[name].tobytes() == array.tobytes(), name


def test_lists_of_the_training_corpus_can_be_replaced_and_removed(hybrid: Artifact) -> None:
    updated, report = update(hybrid, [RemoveList("l3"), SetList("l0", ("i7", "i8"), "New"), RemoveList("x")])
    lists = lists_of(updated)
    assert "l3" not in lists and [*lists.items()][-1] == ("l0", ["i7", "i8"])
    assert updated.list_names is not None and updated.list_names.title(38) == "New"
    assert (report.lists_added, report.lists_replaced, report.lists_removed) == (0, 1, 1)
    assert report.unknown_lists == ("x",)


def test_only_the_newest_lists_are_kept(hybrid: Artifact) -> None:
    updated, report = update(hybrid, [SetList("a", ("i5",)), SetList(None, ("i6",))], keep_newest=3)
    assert lists_of(updated) == {"l39": lists_of(hybrid)["l39"], "a": ["i5"], None: ["i6"]}
    assert report.lists_dropped == 39


@pytest.mark.parametrize("keep_newest", [0, -1])
def test_at_least_one_list_has_to_be_kept(hybrid: Artifact, keep_newest: int) -> None:
    with pytest.raises(BadSetting, match="keep_newest"):
        update(hybrid, [], keep_newest)
    with pytest.raises(BadInput, match="no list"):
        update(hybrid, [RemoveList(f"l{n}") for n in range(40)])


def test_new_item_joins_the_category_of_the_items_it_is_listed_with(hybrid: Artifact) -> None:
    updated, _ = update(hybrid, [SetList("a", ("new", "i16", "i17", "i3"))])
    new = updated.vocabulary.find("new")
    assert new is not None and updated.vocabulary.category(new) == "c1"


def test_given_category_of_a_new_item_counts_more_than_its_lists(hybrid: Artifact) -> None:
    updated, _ = update(hybrid, [SetList("a", ("new", "i16")), SetItem("new", category="c3")])
    new = updated.vocabulary.find("new")
    assert new is not None and updated.vocabulary.category(new) == "c3"


def test_described_item_without_lists_joins_its_group(hybrid: Artifact) -> None:
    updated, report = update(hybrid, [SetItem("new", name="A title", group="artist 11", date="2026-01-31")])
    new = updated.vocabulary.find("new")
    assert new is not None and updated.vocabulary.category(new) == "c3"
    assert updated.vocabulary.name(new) == "A title" and updated.vocabulary.date(new) == "2026-01-31"
    assert report.items_added == 1


def test_description_of_a_trained_item_can_change_but_not_its_category(hybrid: Artifact) -> None:
    updated, report = update(hybrid, [SetItem("i0", name="Renamed", category="c2")])
    assert updated.vocabulary.name(0) == "Renamed" and updated.vocabulary.category(0) == "c0"
    assert report.items_described == 1 and "cannot change" in report.notes[0]


def test_written_artifact_is_the_one_in_memory(hybrid: Artifact, tmp_path: Path) -> None:
    updated, _ = update(hybrid, [SetList("a", ("i5", "n1")), SetItem("n2", group="artist 3")])
    write_updated(tmp_path / "new", updated)
    found = read_artifact(tmp_path / "new")
    assert content(found).keys() == content(updated).keys()
    assert {name: one for name, one in content(found).items() if name != "config"} == {
        name: one for name, one in content(updated).items() if name != "config"
    }
    again, _ = update(found, [SetList("b", ("n1", "n2"))])
    expected, _ = update(updated, [SetList("b", ("n1", "n2"))])
    assert content(again) == content(expected)
    assert "fans update" in (tmp_path / "new" / "README.md").read_text()


def test_existing_folder_is_replaced_only_with_force(hybrid: Artifact, tmp_path: Path) -> None:
    write_updated(tmp_path / "new", hybrid_with(hybrid, "a"))
    with pytest.raises(BadSetting, match="already exists"):
        write_updated(tmp_path / "new", hybrid_with(hybrid, "b"))
    write_updated(tmp_path / "new", hybrid_with(read_artifact(tmp_path / "new"), "b"), force=True)
    assert [*lists_of(read_artifact(tmp_path / "new"))][-2:] == ["a", "b"]


def hybrid_with(artifact: Artifact, id_: str) -> Artifact:
    return update(artifact, [SetList(id_, ("i1", "i2"))])[0]


def test_new_item_can_be_given_and_is_recommended(hybrid: Artifact, tmp_path: Path) -> None:
    lists = [SetList(f"a{n}", ("i20", "i21", "new", "i22")) for n in range(5)]
    updated, _ = update(hybrid, lists)
    write_updated(tmp_path / "new", updated)
    model = load(tmp_path / "new")
    assert "new" in model.continue_lists([["i20", "i21"]], k=10)[0].items
    assert {"i20", "i21", "i22"} & {*model.continue_lists([["new"]], k=10)[0].items}


def test_model_without_a_list_memory_is_refused(tmp_path: Path) -> None:
    folder = write_kind(tmp_path / "ease", "ease")
    with pytest.raises(BadSetting, match="cannot be updated"):
        update(read_artifact(folder), [SetList("a", ("i1",))])


@pytest.mark.parametrize(
    "broken",
    [
        [],
        {},
        {"trained_items": [1], "trained_counts": [2], "bias_shifts": [0.0], "linear_neighbors": 6} | TRAINED,
        {"trained_items": "abcd", "trained_counts": "abcd", "bias_shifts": "abcd", "linear_neighbors": 6} | TRAINED,
    ],
)
def test_damaged_section_on_updates_is_refused(hybrid: Artifact, broken: object) -> None:
    with pytest.raises(BadArtifact):
        update(hybrid_with_section(hybrid, broken), [])


@pytest.mark.parametrize(
    "broken", [{"trained_lists": 10**9}, {"trained_lists": -1}, {"network_weight": -1.0}, {"linear_weight": "0.1"}]
)
def test_damaged_weights_and_lists_in_the_section_are_refused(hybrid: Artifact, broken: dict[str, object]) -> None:
    updated = hybrid_with(hybrid, "a")
    with pytest.raises(BadArtifact):
        update(hybrid_with_section(updated, updated.config["updates"] | broken), [])


def weighing(artifact: Artifact, **weights: float) -> Artifact:
    """Return the model with other weights of its mixture."""
    config = artifact.stored.config
    config = replace(config, weights=replace(config.weights, **weights))
    return replace(artifact, stored=replace(artifact.stored, config=config))


def test_parts_that_learned_from_fewer_of_the_lists_weigh_less(hybrid: Artifact) -> None:
    model, lists = weighing(hybrid, network=0.4, memory=1.0, linear=0.2), hybrid.remembered_lists
    added: list[Change] = [SetList(f"a{n}", ("i1", "i2")) for n in range(lists)]
    half, most = (update(model, changes)[0] for changes in (added[: lists // 4], added))
    share = lists / (lists + lists // 4)
    assert vars(half.stored.config.weights) == pytest.approx(
        {"network": 0.4 * share**3, "memory": 1.0, "linear": 0.2 * share**3}
    )
    assert vars(most.stored.config.weights) == pytest.approx({"network": 0.1, "memory": 1.0, "linear": 0.05})
    again, _ = update(most, [RemoveList(f"a{n}") for n in range(lists)])
    assert again.stored.config.weights == model.stored.config.weights


def test_report_names_the_weights_that_an_update_lowers(hybrid: Artifact) -> None:
    model, lists = weighing(hybrid, network=0.4, memory=1.0, linear=0.2), hybrid.remembered_lists
    updated, report = update(model, [SetList(f"a{n}", ("i1", "i2")) for n in range(lists)])
    assert "weigh 25% of their trained weights" in report.parts_updated["mixture"]
    _, report = update(updated, [RemoveList(f"a{n}") for n in range(lists)])
    assert "mixture" not in report.parts_updated


def test_weights_stay_if_the_memory_has_none(hybrid: Artifact) -> None:
    model = weighing(hybrid, network=0.4, memory=0.0, linear=0.2)
    updated, _ = update(model, [SetList("a", ("i1", "i2"))])
    assert updated.stored.config.weights == model.stored.config.weights


def hybrid_with_section(artifact: Artifact, section: object) -> Artifact:
    return replace(artifact, config=artifact.config | {"updates": section})


def test_hash_is_the_same_for_the_same_changes_in_one_update_or_in_two(hybrid: Artifact) -> None:
    first, second = SetList("a", ("i5",)), SetList("b", ("i6",))
    assert update(hybrid, [])[0].hash == hybrid.hash
    assert update(update(hybrid, [first])[0], [second])[0].hash == update(hybrid, [first, second])[0].hash
    assert update(hybrid, [first])[0].hash != update(hybrid, [second])[0].hash
