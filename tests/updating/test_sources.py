"""Changes from files: ids that several lists have, and lists that are too short or too long."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fansrec.data.reading import Reading
from fansrec.errors import BadInput
from fansrec.updating.changes import MAX_LIST_ITEMS, SetList
from fansrec.updating.sources import read_changes

LONG = [str(n) for n in range(MAX_LIST_ITEMS + 1)]
LISTS = [("a", ["i1", "i2"]), ("empty", []), ("long", LONG), ("b", ["i3"])]


def lists_of(source: Any, skip: bool = False) -> tuple[list[tuple[str | None, list[Any]]], str]:
    """Return ids and items of the lists of a source, and the report."""
    report: list[str] = []
    changes = read_changes(source, None, None, Reading(skip_bad_rows=skip), report.append)
    found = [(one.id, [*one.items]) for one in changes if isinstance(one, SetList)]
    return found, "\n".join(report)


def write_jsonl(path: Path, lists: Any) -> Path:
    path.write_text("".join(json.dumps({"id": id_, "items": items}) + "\n" for id_, items in lists), encoding="utf-8")
    return path


def test_lists_keep_an_id_that_several_of_them_have(tmp_path: Path) -> None:
    lists = [("z", ["i1"]), ("l3", ["i2"]), ("z", ["i3"]), ("y", ["i4"]), ("y", ["i5"])]
    found, report = lists_of(write_jsonl(tmp_path / "lists.jsonl", lists))
    assert found == lists
    assert "note: several lists have the same id (2 ids); the last list of each id is used" in report


@pytest.fixture(params=["jsonl", "csv", "parquet", "dataframe"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Return a source of LISTS, one in each row."""
    table = pl.DataFrame(LISTS, schema={"id": pl.String, "items": pl.List(pl.String)}, orient="row")
    path = tmp_path / f"lists.{request.param}"
    if request.param == "jsonl":
        return write_jsonl(path, LISTS)
    if request.param == "csv":
        table.with_columns(pl.col("items").list.join(" ")).write_csv(path)
    elif request.param == "parquet":
        table.write_parquet(path)
    return table if request.param == "dataframe" else path


def test_empty_and_too_long_lists_are_refused_with_their_lines(source: Any) -> None:
    with pytest.raises(BadInput) as error:
        lists_of(source)
    message = str(error.value)
    empty, long = ("line 3", "line 4") if str(source).endswith("csv") else ("(line|row) 2", "(line|row) 3")
    assert re.search(rf"2 rows cannot be used: 1 with an empty list \({empty}\)", message)
    assert re.search(rf"1 with a list that is too long \({long}: 10,001 items, at most 10,000\)", message)


def test_empty_and_too_long_lists_can_be_skipped(source: Any) -> None:
    found, report = lists_of(source, skip=True)
    assert found == [LISTS[0], LISTS[3]]
    assert "skipped: 2 rows" in report and "1 with an empty list" in report


def test_too_long_list_of_a_table_of_items_is_noted_at_its_first_row(tmp_path: Path) -> None:
    rows = [("a", "i1"), *(("long", item) for item in LONG), ("b", "i3"), ("a", "i2")]
    path = tmp_path / "lists.csv"
    path.write_text("list_id,item_id\n" + "".join(f"{list_},{item}\n" for list_, item in rows), encoding="utf-8")
    with pytest.raises(BadInput, match=r"1 with a list that is too long \(line 3: 10,001 items, at most 10,000\)"):
        lists_of(path)
    assert lists_of(path, skip=True)[0] == [("a", ["i1", "i2"]), ("b", ["i3"])]


def test_python_list_without_usable_items_is_left_out() -> None:
    found, report = lists_of([["i1"], [None], []], skip=True)
    assert found == [(None, ["i1"])]
    assert "1 without an item id (list 2)" in report and "1 with an empty list (list 3)" in report
