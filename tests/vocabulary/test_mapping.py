import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fansrec.errors import BadArtifact
from fansrec.vocabulary import CATEGORIES_FILE, ITEMS_FILE, Vocabulary, mapping, read_vocabulary
from fansrec.vocabulary.mapping import IdIndex
from fansrec.vocabulary.string_table import StringTable

SONGS = Vocabulary(
    ids=["a", "b", "c", "d", "e"],
    starts=np.array([0, 2, 5]),
    names=["Hello", "Yesterday", "Hello", None, "a"],
    groups=["Adele", "Beatles", "Lionel", None, None],
    category_names=["soul", "rock"],
)


def write(vocabulary: Vocabulary, folder: Path) -> Path:
    for name, content in vocabulary.files().items():
        (folder / name).write_bytes(content)
    return folder


def test_an_item_is_found_by_its_id_and_by_its_name() -> None:
    assert SONGS.find("b") == 1
    assert SONGS.find("Yesterday") == 1


def test_a_name_that_two_items_share_finds_neither() -> None:
    assert SONGS.find("Hello") is None
    thrice = Vocabulary(ids=["x", "y", "z"], starts=np.array([0, 3]), names=["same", "same", "same"])
    assert thrice.find("same") is None


def test_case_of_a_name_does_not_matter_if_one_item_has_it() -> None:
    assert SONGS.find("yesterday") == SONGS.find("YESTERDAY") == 1
    assert SONGS.find("hello") is None  # two items have it
    assert SONGS.find("B") is None  # the case of ids does
    assert SONGS.find("") is None and SONGS.find("\ud800") is None


def test_exact_name_wins_over_one_in_another_case() -> None:
    cased = Vocabulary(ids=["1", "2"], starts=np.array([0, 2]), names=["Help", "HELP"])
    assert (cased.find("Help"), cased.find("HELP"), cased.find("help")) == (0, 1, None)


def test_suggestions_are_items_that_are_found() -> None:
    assert SONGS.suggestions("Yestreday") == ["Yesterday"]
    assert SONGS.suggestions("hello") == ["a", "c"]  # ids, since the name stands for both
    assert SONGS.suggestions("B") == ["b"]
    assert SONGS.suggestions("nobody") == SONGS.suggestions(7) == []


def test_large_catalogs_give_no_suggestions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "MAX_SUGGESTED", 4)
    assert SONGS.suggestions("Yestreday") == []


def test_an_id_wins_over_a_name() -> None:
    assert SONGS.find("a") == 0  # also the name of item 4


def test_indices_of_known_items_and_unknown_items() -> None:
    known, unknown = SONGS.indices(["c", "nobody", "Yesterday", 7, "c"])
    assert (known.tolist(), unknown) == ([2, 1, 2], ["nobody", 7])


def test_integer_ids_are_found_as_integers_and_strings_and_returned_as_integers() -> None:
    numbered = Vocabulary(ids=["10", "7"], starts=np.array([0, 2]), integer_ids=True)
    assert numbered.find(7) == numbered.find("7") == 1
    assert numbered.id(1) == 7 and isinstance(numbered.id(1), int)


def test_string_ids_that_look_like_numbers_stay_strings() -> None:
    assert Vocabulary(ids=["007"], starts=np.array([0, 1])).id(0) == "007"


def test_a_label_is_the_name_or_else_the_id() -> None:
    assert [SONGS.label(n) for n in range(5)] == ["Hello", "Yesterday", "Hello", "d", "a"]
    assert Vocabulary(ids=["x"], starts=np.array([0, 1])).label(0) == "x"


def test_categories_are_slices_of_items() -> None:
    assert SONGS.categories.tolist() == [0, 0, 1, 1, 1]
    assert [SONGS.category(n) for n in range(5)] == ["soul", "soul", "rock", "rock", "rock"]


def test_items_of_a_group_share_an_index_and_items_without_a_group_do_not() -> None:
    groups = Vocabulary(
        ids=list("abcdef"), starts=np.array([0, 6]), groups=["x", None, "x", None, "3", "y"]
    ).group_indices
    assert groups[0] == groups[2]
    assert len(set(groups.tolist())) == 5  # b, d, "3", x and y all differ, although d is item 3


def test_without_groups_every_item_has_its_own_group() -> None:
    assert len(set(Vocabulary(ids=list("abc"), starts=np.array([0, 3])).group_indices.tolist())) == 3


texts = st.text(st.characters(codec="utf-8"), max_size=8)
dates = (st.dates() | st.datetimes(timezones=st.none() | st.timezones())).map(lambda moment: moment.isoformat())


@given(data=st.data())
def test_vocabulary_survives_writing_and_reading(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    ids = data.draw(st.lists(texts, min_size=1, max_size=8, unique=True))
    maybe = st.lists(st.none() | texts, min_size=len(ids), max_size=len(ids))
    cuts = data.draw(st.sets(st.integers(1, len(ids) - 1))) if len(ids) > 1 else set()
    starts = np.array([0, *sorted(cuts), len(ids)])
    before = Vocabulary(
        ids=ids,
        starts=starts,
        names=data.draw(maybe),
        groups=data.draw(maybe),
        category_names=[f"ü{n}" for n in range(len(starts) - 1)],
        dates=data.draw(st.lists(st.none() | dates, min_size=len(ids), max_size=len(ids))),
    )
    after = read_vocabulary(write(before, tmp_path_factory.mktemp("vocabulary")))
    assert list(after.ids) == ids
    assert after.starts.tolist() == starts.tolist()
    assert [after.name(n) for n in range(len(ids))] == before.names
    assert [after.group(n) for n in range(len(ids))] == before.groups
    assert [after.date(n) for n in range(len(ids))] == before.dates
    assert list(after.category_names) == before.category_names
    assert after.files() == before.files()


def test_dates_become_days_since_1970(tmp_path: Path) -> None:
    written = ["1970-01-02", None, "1969-12-31", "2000-01-01T12:00:00+12:00", "1970-01-02"]
    after = read_vocabulary(write(replace(SONGS, dates=written), tmp_path))
    assert np.array_equal(after.days, [1, np.nan, -1, 10_957, 1], equal_nan=True)
    assert np.isnan(SONGS.days).all() and b"date" not in SONGS.files()[ITEMS_FILE]


@pytest.mark.parametrize("date", ["soon", "", "2020-13-01", "1999", "10000-01-01", 1999, ["2020-01-01"]])
def test_invalid_dates_are_refused(tmp_path: Path, date: object) -> None:
    write(SONGS, tmp_path)
    rows = (tmp_path / ITEMS_FILE).read_text().splitlines()
    rows[0] = json.dumps(json.loads(rows[0]) | {"date": date})
    (tmp_path / ITEMS_FILE).write_text("\n".join(rows) + "\n")
    with pytest.raises(BadArtifact, match="does not hold a readable vocabulary"):
        read_vocabulary(tmp_path)


def test_ids_of_both_types_survive_writing_and_reading(tmp_path: Path) -> None:
    kinds = np.array([True, False, False])
    before = Vocabulary(["3", "1", "x"], np.array([0, 3]), category_names=["all"], integer_items=kinds)
    write(before, tmp_path)
    after = read_vocabulary(tmp_path)
    assert [after.id(index) for index in range(3)] == [3, "1", "x"]
    assert after.find(3) == after.find("3") == 0 and after.find(1) == 1
    assert after.integers.tolist() == kinds.tolist() and after.files() == before.files()


@pytest.mark.parametrize(
    ("id_", "integer_ids"), [("1000000000000000000", False), ("-1000000000000000000", False), ("3", True)]
)
def test_integers_that_do_not_fit_or_contradict_are_refused(tmp_path: Path, id_: str, integer_ids: bool) -> None:
    write(SONGS, tmp_path)
    (tmp_path / ITEMS_FILE).write_text(f'{{"id": {id_}}}\n{{"id": "4"}}\n')
    content = {"names": ["all"], "starts": [0, 2], "integer_ids": integer_ids}
    (tmp_path / CATEGORIES_FILE).write_text(json.dumps(content))
    with pytest.raises(BadArtifact, match="does not hold a readable vocabulary"):
        read_vocabulary(tmp_path)


def test_integer_ids_survive_writing_and_reading(tmp_path: Path) -> None:
    before = Vocabulary(ids=["3", "1"], starts=np.array([0, 2]), category_names=["all"], integer_ids=True)
    assert read_vocabulary(write(before, tmp_path)).id(0) == 3


def test_word_for_groups_survives_writing_and_reading(tmp_path: Path) -> None:
    assert b"group_name" not in SONGS.files()[CATEGORIES_FILE]  # as in earlier versions
    assert read_vocabulary(write(SONGS, tmp_path)).group_name == "group"
    assert read_vocabulary(write(replace(SONGS, group_name="singer"), tmp_path)).group_name == "singer"


@pytest.mark.parametrize("word", ["", " ", 3, None, ["a"], "x" * 41, "a\x1b[31m"])
def test_invalid_word_for_groups_is_refused(tmp_path: Path, word: object) -> None:
    write(replace(SONGS, group_name=word), tmp_path)  # type: ignore[arg-type]
    with pytest.raises(BadArtifact, match="group_name is not a word"):
        read_vocabulary(tmp_path)


def test_missing_columns_stay_missing(tmp_path: Path) -> None:
    bare = replace(SONGS, names=None, groups=[None] * 5)
    after = read_vocabulary(write(bare, tmp_path))
    assert after.names is None and after.groups is None
    assert json.loads((tmp_path / ITEMS_FILE).read_text().splitlines()[0]) == {"id": "a"}


@pytest.mark.parametrize("starts", [[], [0], [1, 5], [0, 4], [0, 2, 2, 5], [0, 3, 2, 5], [0, 6]])
def test_categories_that_do_not_match_the_items_are_refused(tmp_path: Path, starts: list[int]) -> None:
    write(SONGS, tmp_path)
    (tmp_path / CATEGORIES_FILE).write_text(json.dumps({"names": [], "starts": starts, "integer_ids": False}))
    with pytest.raises(BadArtifact, match="does not match"):
        read_vocabulary(tmp_path)


@pytest.mark.parametrize(("name", "content"), [(ITEMS_FILE, '{"id": "a"\n'), (ITEMS_FILE, '{"name": "x"}\n'), (ITEMS_FILE, "[]\n"), (ITEMS_FILE, '{"id": "a"}, {"id": "b"}\n'), (ITEMS_FILE, '{"id": "a"}\n\n'), (ITEMS_FILE, '{"id": 3.5}\n'), (CATEGORIES_FILE, "{}"), (CATEGORIES_FILE, "[]"), (CATEGORIES_FILE, "\xff")])  # fmt: skip # noqa: E501
def test_a_damaged_file_is_refused_with_advice(tmp_path: Path, name: str, content: str) -> None:
    write(SONGS, tmp_path)
    (tmp_path / name).write_bytes(content.encode("latin-1"))
    with pytest.raises(BadArtifact, match="does not hold a readable vocabulary .* create the folder again"):
        read_vocabulary(tmp_path)


@pytest.mark.parametrize("name", [ITEMS_FILE, CATEGORIES_FILE])
def test_a_missing_file_is_refused(tmp_path: Path, name: str) -> None:
    write(SONGS, tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(BadArtifact, match="not hold a readable vocabulary"):
        read_vocabulary(tmp_path)


def with_categories(folder: Path, **changes: object) -> Path:
    write(SONGS, folder)
    content = json.loads((folder / CATEGORIES_FILE).read_text()) | changes
    (folder / CATEGORIES_FILE).write_text(json.dumps(content))
    return folder


@pytest.mark.parametrize("names", [[], ["soul"], ["soul", "rock", "jazz"]])
def test_number_of_category_names_must_match(tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(BadArtifact, match=f"has {len(names)} names for 2 categories"):
        read_vocabulary(with_categories(tmp_path, names=names))


@pytest.mark.parametrize("changes", [{"names": "so"}, {"names": ["soul", 3]}, {"names": ["soul", None]}, {"names": ["soul", "\ud800"]}, {"names": {}}, {"starts": [0, 2.0, 5]}, {"starts": [False, 2, 5]}, {"starts": ["0", "2", "5"]}, {"starts": [0, 2, 10**30]}, {"starts": [[0, 2, 5]]}, {"starts": None}, {"integer_ids": 1}, {"integer_ids": "no"}, {"integer_ids": None}])  # fmt: skip # noqa: E501
def test_categories_of_another_type_are_refused(tmp_path: Path, changes: dict[str, object]) -> None:
    with pytest.raises(BadArtifact, match="not hold a readable vocabulary"):
        read_vocabulary(with_categories(tmp_path, **changes))


@pytest.mark.parametrize("id_", [" 10", "1_0", "+7", "007", "-0", "-", "", "١", "1e3", "0x10", "7.0", "9" * 19, "--1"])
def test_ids_declared_integers_must_be_integers_as_python_writes_them(tmp_path: Path, id_: str) -> None:
    ids = ["3", id_, "-12", "0", "9" * 18]
    write(replace(SONGS, ids=ids, integer_ids=True), tmp_path)
    with pytest.raises(BadArtifact, match="has ids that are not integers of at most 18 digits"):
        read_vocabulary(tmp_path)


@given(st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=1, max_size=6, unique=True))
def test_integers_of_18_digits_are_valid_ids(tmp_path_factory: pytest.TempPathFactory, integers: list[int]) -> None:
    ids = [str(integer) for integer in integers]
    before = Vocabulary(ids=ids, starts=np.array([0, len(ids)]), category_names=["all"], integer_ids=True)
    after = read_vocabulary(write(before, tmp_path_factory.mktemp("vocabulary")))
    assert [after.id(index) for index in range(len(ids))] == integers


@pytest.mark.parametrize("row", [{"id": None}, {"id": ["a"]}, {"id": True}, {"id": "a", "name": 3}, {"id": "\ud800"}, {"id": "a", "group": {}}, "a", 3, None])  # fmt: skip # noqa: E501
def test_items_of_another_type_are_refused(tmp_path: Path, row: object) -> None:
    write(SONGS, tmp_path)
    lines = (tmp_path / ITEMS_FILE).read_text().splitlines()
    (tmp_path / ITEMS_FILE).write_text("\n".join([*lines[:4], json.dumps(row)]) + "\n")
    with pytest.raises(BadArtifact, match="not hold a readable vocabulary|an item without an id"):
        read_vocabulary(tmp_path)


def test_items_file_of_several_blocks_is_read(tmp_path: Path) -> None:
    ids = [f"item {n} " + "ü" * 200 for n in range(6_000)]  # several blocks, cut inside lines and inside characters
    before = Vocabulary(ids=ids, starts=np.array([0, len(ids)]), category_names=["all"])
    assert list(read_vocabulary(write(before, tmp_path)).ids) == ids


def test_duplicate_ids_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadArtifact, match="two items with the same id"):
        read_vocabulary(write(Vocabulary(["a", "b", "a"], np.array([0, 3]), category_names=["all"]), tmp_path))


def test_prepared_lookups_find_what_others_find() -> None:
    """Also with an index of ids, and with one that cannot take a text."""

    def made() -> Vocabulary:
        return Vocabulary(["a", "7", "b"], np.array([0, 3]), names=["Blue", "b", "a"], category_names=["all"])

    def index_of(ids: StringTable) -> IdIndex:
        numbers = {id_: number for number, id_ in enumerate(ids)}

        def find(texts: Sequence[str]) -> tuple[NDArray[np.int64], int] | None:
            found = np.array([numbers.get(text, -1) for text in texts], dtype=np.int64)
            return None if "\ud800" in texts else (found, int((found < 0).sum()))

        return find

    items: list[object] = ["b", 7, "a", "Blue", "BLUE", "none", "", "\ud800", 8]
    prepared, indexed = made(), made()
    prepared.prepare_lookups()
    indexed.prepare_lookups(index_of)
    for vocabulary in (prepared, indexed, made()):
        for some, known, unknown in (
            (items, [2, 1, 0, 0, 0], ["none", "", "\ud800", 8]),
            (items[:7], [2, 1, 0, 0, 0], ["none", ""]),
            (["a", "b"], [0, 2], []),
            ([], [], []),
        ):
            found, others = vocabulary.indices(iter(some))
            assert (found.tolist(), others) == (known, unknown) and found.dtype == np.int64
