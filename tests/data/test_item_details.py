import gzip
import json
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from fansrec.data.columns import Columns
from fansrec.data.item_details import read_details
from fansrec.data.reading import Reading
from fansrec.errors import BadInput

ROWS = [
    {"item": "1", "title": 'Say "Hey"', "artist": "Ann", "category": "rock"},
    {"item": "2", "title": "Größe", "artist": None, "category": None},
    {"item": "9", "title": "Not in any list", "artist": "Bob", "category": "jazz"},
]


def sources(folder: Path) -> list[Any]:
    table = pl.DataFrame(ROWS)
    table.write_csv(folder / "items.csv")
    table.write_parquet(folder / "items.parquet")
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    (folder / "items.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    tsv = 'id\tname\tgroup\tcategory\n1\tSay "Hey"\tAnn\trock\n2\tGröße\t\t\n'
    (folder / "items.tsv").write_text(tsv, encoding="utf-8")
    numbered = pl.DataFrame(ROWS).with_columns(pl.col("item").cast(pl.Int64))
    return [*sorted(folder.iterdir()), table, numbered, pd.DataFrame(ROWS)]


def test_all_formats_give_the_same_details(tmp_path: Path) -> None:
    for source in sources(tmp_path):
        details = read_details(source, ["1", "2", "3"])
        assert details.names == {"1": 'Say "Hey"', "2": "Größe"}
        assert details.groups == {"1": "Ann"}
        assert details.categories == {"1": "rock"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("thing,title\n1,a\n", "no column item or id"),
        ("item,title\n1,a\n1,b\n", "with an item that occurs before"),
        ("item,title\n77,a\n", "contains none of the items"),
        ("item,title\n", "contains none of the items"),
        ("", "is empty"),
    ],
)
def test_bad_items_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "items.csv"
    path.write_text(text)
    with pytest.raises(BadInput, match=message):
        read_details(path, ["1"])


@pytest.mark.parametrize(
    ("column", "word"),
    [
        ("group", "group"),
        ("Author", "author"),
        ("artist_name", "artist"),
        ("brand", "brand"),
        ("Book-Author", "author"),
        (None, "group"),
    ],
)
def test_groups_are_called_as_their_column(tmp_path: Path, column: str | None, word: str) -> None:
    path = tmp_path / "items.csv"
    path.write_text(f"item,{column or 'other'}\n1,Ann\n")
    assert read_details(path, ["1"]).group_name == word
    assert read_details(path, ["1"], group_name="maker").group_name == "maker"


def test_columns_of_the_items_file_are_recognized_in_any_spelling_or_named(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("ISBN;Book-Title;Book Author;shelf;Genre\n1;T;A;S;\n")
    lines: list[str] = []
    details = read_details(path, ["1"], report=lines.append)
    assert (details.names, details.groups, details.categories) == ({"1": "T"}, {"1": "A"}, {})
    assert lines == ["items: items.csv: id 'ISBN', name 'Book-Title', group 'Book Author', category 'Genre'"]
    columns = Columns(name="shelf", group="book-title", category="Book Author")
    details = read_details(path, ["1"], Reading(columns))
    assert (details.names, details.groups, details.categories) == ({"1": "S"}, {"1": "T"}, {"1": "A"})
    with pytest.raises(BadInput, match=r"no column 'title2' .*name.column"):
        read_details(path, ["1"], Reading(Columns(name="title2")))


def test_columns_that_may_be_meant_get_a_note(tmp_path: Path) -> None:
    table, lines = pl.DataFrame({"id": [1], "full name": ["x"], "lead artist": ["y"], "sub genre": ["z"]}), list[str]()
    assert read_details(table, ["1"], report=lines.append).names == {}
    assert lines[0].endswith("id 'id'; no name, no group, no category")
    for role, column in (("name", "full name"), ("group", "lead artist"), ("category", "sub genre")):
        assert f"note: column {column!r} may be the {role}; to use it, give --{role}-column {column!r}" in lines


def test_repeated_items_must_agree_unless_bad_rows_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("item,name\n1,a\n1,a\n2,b\n2,c\n3,None\n")
    with pytest.raises(BadInput, match=r"1 row cannot be used: 1 with an item that occurs before .* \(line 5: '2'\)"):
        read_details(path, ["1", "2", "3"])
    assert read_details(path, ["1", "2", "3"], Reading(skip_bad_rows=True)).names == {"1": "a", "2": "b"}


def dated(folder: Path, dates: list[str], given: str | None = None, column: str = "date") -> tuple[dict[str, str], str]:
    """Return the dates of items 1, 2, … and the report of reading them."""
    lines: list[str] = []
    path = folder / "items.csv"
    path.write_text(f"item,{column}\n" + "".join(f"{n},{date}\n" for n, date in enumerate(dates, 1)))
    ids = [str(n) for n in range(1, len(dates) + 1)]
    return read_details(path, ids, Reading(Columns(date=given)), lines.append).dates, "\n".join(lines)


def test_dates_are_kept_as_iso_text(tmp_path: Path) -> None:
    written = ["1999", "2003.0", "2004-05", "2020-02-29", "2020/3/1", "2021-01-02T03:04:05+01:00", "20260131", "0", ""]
    dates, report = dated(tmp_path, written)
    assert list(dates.values()) == [
        "1999-01-01", "2003-01-01", "2004-05-01", "2020-02-29", "2020-03-01", "2021-01-02T02:04:05", "2026-01-31",
    ]  # fmt: skip
    assert "date 'date'" in report and "1 of 8 dates in 'date' cannot be read, such as '0'" in report


def test_dates_of_typed_tables_are_kept() -> None:
    day = pl.Series([date(2020, 1, 2), None])
    assert read_details(pl.DataFrame({"id": ["a", "b"], "released": day}), ["a", "b"]).dates == {"a": "2020-01-02"}
    years = pl.DataFrame({"id": ["a", "b"], "year": [1999, 2001]})
    assert read_details(years, ["a", "b"]).dates == {"a": "1999-01-01", "b": "2001-01-01"}


def test_a_column_without_dates_is_left_out_or_refused_if_named(tmp_path: Path) -> None:
    dates, report = dated(tmp_path, ["yes", "no", "1999"], column="published")
    assert dates == {} and "note: column 'published' was not used as the date: 'yes' is neither a year" in report
    with pytest.raises(BadInput, match="column 'published' holds no dates"):
        dated(tmp_path, ["yes", "no", "1999"], "published", "published")


def test_rows_of_one_item_may_have_several_dates(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("item,name,date\n1,a,2020-01-01\n1,a,2021-01-01\n")
    assert read_details(path, ["1"]).dates == {"1": "2020-01-01"}
