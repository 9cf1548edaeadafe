import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fansrec.vocabulary.string_table import StringTable

columns = st.lists(st.none() | st.text(st.characters(codec="utf-8"), max_size=5), max_size=30)


@given(column=columns)
def test_table_reads_like_the_list_it_was_made_of(column: list[str | None]) -> None:
    table = StringTable.from_strings(column)
    assert list(table) == column and len(table) == len(column)
    assert table[1:-1:2] == column[1:-1:2]
    assert [table[-n] for n in range(1, len(column) + 1)] == column[::-1]
    assert table.any() == any(text is not None for text in column)


@given(column=columns, other=st.text(max_size=2))
def test_find_returns_all_indices_of_a_string(column: list[str | None], other: str) -> None:
    table = StringTable.from_strings(column)
    for string in {other, *column} - {None}:
        assert table.find(string) == [index for index, value in enumerate(column) if value == string]


@given(parts=st.lists(columns, max_size=4))
def test_concatenated_tables_are_one_column(parts: list[list[str | None]]) -> None:
    assert list(StringTable.concatenate([StringTable.from_strings(part) for part in parts])) == [
        text for part in parts for text in part
    ]


def test_empty_string_is_not_none() -> None:
    table = StringTable.from_strings(["", None, ""])
    assert table.find("") == [0, 2] and table[1] is None


def test_lone_surrogate_is_not_found() -> None:
    assert StringTable.from_strings(["a", "ü"]).find("\ud800") == []


def test_index_out_of_range_is_an_error() -> None:
    with pytest.raises(IndexError):
        StringTable.from_strings(["a"])[1]


def test_numpy_integer_is_an_index() -> None:
    assert StringTable.from_strings(["a", "b"])[np.int64(1)] == "b"  # type: ignore[call-overload]


@pytest.mark.parametrize("wrong", [3, 0, [], {}, b"x"])
def test_values_other_than_strings_are_refused(wrong: object) -> None:
    with pytest.raises(TypeError):
        StringTable.from_strings(["a", wrong])  # type: ignore[list-item]


@given(column=columns)
def test_all_distinct(column: list[str | None]) -> None:
    present = [text for text in column if text is not None]
    assert StringTable.from_strings(column).all_distinct() == (len({*present}) == len(present))
