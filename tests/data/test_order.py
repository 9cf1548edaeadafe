"""Which columns are recognized, and what orders the items of a list."""

import json
import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from data.test_sources import as_ids, written
from fansrec.data.columns import DETAIL_NAMES, ITEM_NAMES, ITEMS_NAMES, LIST_NAMES, POSITION_NAMES, TIME_NAMES, Columns
from fansrec.data.reading import Reading
from fansrec.data.sources import read_lists
from fansrec.errors import BadInput

TIMES = {
    "Unix seconds": [1_700_000_300, 1_700_000_100, 1_700_000_200],
    "Unix milliseconds": [1_700_000_300_000, 1_700_000_100_000, 1_700_000_200_000],
    "Unix microseconds": [1_700_000_300_000_000, 1_700_000_100_000_000, 1_700_000_200_000_000],
    "Unix seconds ": [1_700_000_300.5, 1_700_000_100.0, 1_700_000_200.25],
    "ISO 8601": ["2026-01-31T20:15:30Z", "2026-01-31 21:00:00+02:00", "2026-01-31T19:30"],
    "ISO 8601 ": ["2026/1/31", "2025-12-31", "2026-01-02"],
    "dates like 20260131": [20_260_131, 20_251_231, 20_260_102],
    "dates": [date(2026, 1, 31), date(2025, 12, 31), date(2026, 1, 2)],
    "datetimes": [datetime(2026, 1, day, tzinfo=UTC) for day in (3, 1, 2)],
}


def read(source: Any, reading: Reading = Reading()) -> tuple[list[list[str]], str]:  # noqa: B008
    lines: list[str] = []
    return as_ids(read_lists(source, reading, lines.append)), "\n".join(lines)


def logged(**columns: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({"list": [1, 1, 1], "item": ["c", "a", "b"], **columns})


@pytest.mark.parametrize("kind", TIMES)
@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl"])
def test_times_of_every_kind_order_the_items(tmp_path: Path, kind: str, form: str) -> None:
    table, path = logged(**{"Added-At": TIMES[kind]}), tmp_path / f"a.{form}"
    if form == "parquet":
        table.write_parquet(path)
    else:
        texts = table.cast({"Added-At": pl.String}) if table["Added-At"].dtype.is_temporal() else table
        texts.write_csv(path) if form == "csv" else texts.write_ndjson(path)
    lists, report = read(path)
    assert lists == [["a", "b", "c"]]
    assert "ordered by time 'Added-At'" in report and "equal times by row" in report
    assert kind.strip() in report or (form != "parquet" and kind in ("dates", "datetimes") and "ISO 8601" in report)


def test_equal_times_and_positions_keep_the_order_of_the_rows() -> None:
    assert read(logged(time=["2026-01-02", "2026-01-01", "2026-01-01"]))[0] == [["a", "b", "c"]]
    lists, report = read(logged(rank=[2, 1, 1]))
    assert lists == [["a", "b", "c"]]
    assert "note: 1 items have the same position" in report


def test_a_position_comes_before_a_time_unless_the_user_says_otherwise() -> None:
    table = logged(pos=[1, 2, 3], timestamp=TIMES["Unix seconds"])
    lists, report = read(table)
    assert lists == [["c", "a", "b"]]
    assert "ordered by position 'pos'" in report and "--order time" in report
    assert read(table, Reading(order="time"))[0] == [["a", "b", "c"]]
    assert read(table, Reading(order="file"))[0] == [["c", "a", "b"]]
    assert read(table, Reading(Columns(position="timestamp")))[0] == [["a", "b", "c"]]
    assert read(table.drop("pos").rename({"timestamp": "x"}), Reading(Columns(time="x")))[0] == [["a", "b", "c"]]


@pytest.mark.parametrize(
    ("columns", "note"),
    [
        ({"order": ["A-1", "A-2", "A-3"]}, "column 'order' was not used for the order: its values are not whole numb"),
        ({"time": [215, 180, 200]}, "column 'time' was not used as time: its numbers are not Unix times"),
        (
            {"date": ["31/01/2026", "30/01/2026", "29/01/2026"]},
            "column 'date' was not used as time: most of its values",
        ),
        ({"release date": ["2026-01-03", "2026-01-01", "2026-01-02"]}, "give --time-column 'release date'"),
        ({"x": TIMES["dates"]}, "column 'x' may hold times; to order the lists by it, give --time-column 'x'"),
        ({"user_id": [1, 1, 1]}, "'user_id' not used, since 'list' comes first; to change that, give --list-column"),
        ({"isbn": [1, 2, 3]}, "'isbn' not used, since 'item' comes first; to change that, give --item-column"),
    ],
)
def test_columns_that_were_ignored_get_a_note(columns: dict[str, list[Any]], note: str) -> None:
    lists, report = read(logged(**columns))
    assert lists == [["c", "a", "b"]]
    assert "in the order of the rows" in report and note in report


def test_a_column_of_times_that_the_user_names_must_hold_times() -> None:
    assert read(logged(time=[215, 180, 200]), Reading(Columns(time="time")))[0] == [["a", "b", "c"]]
    with pytest.raises(BadInput, match=r"column 'x' holds no times \('soon' is neither"):
        read(logged(x=["soon", "later", "never"]), Reading(Columns(time="x")))
    for order in ("position", "time"):
        with pytest.raises(BadInput, match=f"order {order} needs a column of {order}s"):
            read(logged(), Reading(order=order))
        with pytest.raises(BadInput, match=f"order {order} cannot order its items"):
            read(pl.DataFrame({"items": [["a"]]}), Reading(order=order))


@pytest.mark.parametrize("spelling", ["{}", "{} ", "{}X", "{}x"])
@pytest.mark.parametrize(("list_name", "item_name"), [("session", "track"), ("order_id", "isbn"), ("user_id", "sku")])
def test_spelling_of_known_names_does_not_matter(list_name: str, item_name: str, spelling: str) -> None:
    names = {
        "{}": (list_name, item_name),
        "{} ": (list_name.replace("_", " ").title(), item_name.upper()),
        "{}X": (list_name.replace("_", "-"), f"{item_name} "),
        "{}x": (list_name.replace("_", ""), item_name.title()),
    }[spelling]
    assert read(pl.DataFrame({names[0]: [1, 1], names[1]: ["b", "a"]}))[0] == [["b", "a"]]


def test_first_of_several_known_columns_is_used() -> None:
    lists, report = read(pl.DataFrame({"user_id": [1, 1], "session_id": [1, 2], "item": ["a", "b"]}))
    assert lists == [["a"], ["b"]] and "list 'session_id'" in report and "'user_id' not used" in report


def test_a_column_of_arrays_holds_the_lists_even_beside_ids() -> None:
    assert read(pl.DataFrame({"user": [1], "url": ["x"], "items": [["b", "a"]]}))[0] == [["b", "a"]]


def test_json_lines_with_one_item_per_line_are_grouped_and_ordered(tmp_path: Path) -> None:
    rows = [("x", 3, 30), ("y", 7, 1), ("x", "b", 10), ("x", 3, 20)]
    lines = [json.dumps({"session": s, "track": item, "ts": 1_700_000_000 + ts}) for s, item, ts in rows]
    raw = read_lists(written(tmp_path, "a.jsonl", "\n".join(lines)))
    assert as_ids(raw) == [["b", "3", "3"], ["7"]]
    assert raw.integers is not None and dict(zip(raw.ids, raw.integers.tolist(), strict=True)) == {
        "3": True, "7": True, "b": False,
    }  # fmt: skip


def test_recognized_names_are_in_the_reference_and_examples_of_them_in_the_guide() -> None:
    documents = Path(__file__).parents[2] / "docs"
    reference = (documents / "reference/command-line.md").read_text(encoding="utf-8").replace("\\_", "_")
    all_names = (LIST_NAMES, ITEM_NAMES, POSITION_NAMES, TIME_NAMES, ITEMS_NAMES, *DETAIL_NAMES.values())
    assert not [names[0] for names in all_names if f": {', '.join(names)} |" not in reference]
    guide = (documents / "how-to/prepare-data.md").read_text(encoding="utf-8")
    examples = re.findall(r"^\| .* \| `--\w+-column` \| (.*) \|$", guide, re.MULTILINE)
    for row, names in zip(examples, all_names, strict=True):
        assert {example.strip("`") for example in row.split(", ")} <= {*names}
