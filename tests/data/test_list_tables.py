"""Small tables of lists, read without polars as `fans prepare` reads them."""

import io
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from fansrec.data.columns import Columns
from fansrec.data.list_tables import read_table
from fansrec.data.reading import Reading
from fansrec.data.sources import read_lists
from fansrec.data.time_texts import sortable_times
from fansrec.data.times import measure_times, microseconds
from fansrec.errors import BadInput

SHUFFLED = {
    "session,product,time\na,003,300\na,001,100\na,002,200\n": "ordered by time 'time', equal times by row",
    "list,item,played_at\na,003,1700000300\na,001,1700000100.5\na,002,1700000200\n": "ordered by time 'played_at'",
    "list,item,date\na,003,2026-03-01\na,001,2026-01-01T23:59\na,002,2026-01-02 00:30+00:30\n": "ordered by time",
    "list,item,pos,time\na,003,10,1\na,001,2,3\na,002,9,2\n": "ordered by position 'pos', equal positions by row",
    "list,item,order,time\na,003,X1,3\na,001,X2,1\na,002,X3,2\n": "ordered by time 'time'",
    '"list","item","date, of play","time"\na,003,x,9\na,001,x,7\na,002,x,8\n': "ordered by time 'time'",
    'list;item;"time"\na;003;3\na;001;1\na;002;2\n': "ordered by time 'time'",
    "list,item,time\na,001,5\na,002,5\na,003,5\n": "ordered by time 'time'",
    "list,item,pos,time\na,001,NA,\na,002,,NA\nNA,,NA,\na,003,,\n": "in the order of the rows",
    "list,item\na,001\na,002\na,003\n": "in the order of the rows",
}


def read(text: str) -> tuple[list[dict[str, object]], list[str]]:
    reports: list[str] = []
    content = text.encode()
    return list(read_table(io.BytesIO(content), content.splitlines()[0], "lists", reports.append)), reports


@pytest.mark.parametrize(("text", "how"), SHUFFLED.items())
def test_items_are_ordered_by_position_else_time_else_row(text: str, how: str) -> None:
    rows, reports = read(text)
    assert rows == [{"id": "a", "items": ["001", "002", "003"]}]
    assert reports[0].startswith("columns: list ") and how in reports[0]


def test_table_is_ordered_as_fans_prepare_orders_it(tmp_path: Path) -> None:
    for text in SHUFFLED:
        (tmp_path / "lists.csv").write_text(text)
        given = Reading(columns=Columns(time="time" if "time" in text and "pos" not in text else None))
        raw = read_lists(tmp_path / "lists.csv", given)
        assert [raw.ids[index] for index in raw.lists.items] == read(text)[0][0]["items"]


def test_times_are_those_of_fans_prepare() -> None:
    columns = [
        ["2026-01-31T20:15:30.123456789+02:00", "2026/1/5", "2026-01-31 20:15Z", "2026-02-30", "soon", "", "5e3", "-7"],
        ["20260131", "20250229", "20240229"],
        ["1700000000123", "1600000000000.5"],
        ["1700000000", "1e9", "inf", "nan", "1_000"],
    ]
    for texts in columns:
        table = pl.LazyFrame({"t": texts})
        expected = (
            table.select(microseconds("t", pl.String(), measure_times(table, "t").scale)).collect()["t"].to_list()
        )
        found = [None if time is None else round(time) for time in sortable_times(texts)]
        assert found == expected


def test_columns_that_are_not_used_are_reported() -> None:
    _, reports = read("list,item,item,when_added\na,i1,i9,x\n")
    assert reports[0] == "note: the header has column 'item' 2 times; the first one is used"
    assert reports[2] == "note: column 'when_added' may hold times; to order by it, rename it to 'time'"
    _, reports = read("list,item,order,time\na,i1,X1,3\n")
    assert reports[1] == "note: column 'order' was not used for the order: most of its values are not whole numbers"


def test_repeated_column_is_reported_by_fans_prepare(tmp_path: Path) -> None:
    (tmp_path / "lists.csv").write_text("list,item,item\na,i1,i9\n")
    reports: list[str] = []
    assert read_lists(tmp_path / "lists.csv", report=reports.append).ids == ["i1"]
    assert "note: the header has column 'item' 2 times; the first one is used" in reports


def test_all_bad_rows_are_reported_together() -> None:
    with pytest.raises(BadInput) as error:
        read('list,item,time\na,"i\n1",1\na\na,i2,soon\na,i3,3\na,i4,4,5\n')
    assert str(error.value) == (
        "lists: 3 rows cannot be used: 1 with more fields than the first line (line 7), 1 without an item id (line 4), "
        "1 with a time that is missing, or is neither a number nor ISO 8601 (line 5: 'soon'); "
        "correct or remove them, or rename column 'time' to keep the order of the rows"
    )


def test_tables_are_read_without_polars() -> None:
    code = "import sys; sys.modules['polars'] = None; import fansrec.cli.list_files"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
