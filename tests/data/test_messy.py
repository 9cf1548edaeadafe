"""Rows that cannot be used, missing values, separators and repetitions."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from data.test_sources import as_ids, written
from fansrec.data.corpus import read_corpus
from fansrec.data.lists import RawLists
from fansrec.data.prepare import Preparation, prepare
from fansrec.data.reading import Reading
from fansrec.data.sources import read_lists
from fansrec.errors import BadInput, BadSetting

SKIP = Reading(skip_bad_rows=True)


def read(path: Path, reading: Reading = SKIP) -> tuple[RawLists, list[str]]:
    lines: list[str] = []
    return read_lists(path, reading, lines.append), [line for line in lines if line.startswith("skipped")]


BAD = {
    "list ids": ("a.csv", "list,item\n1,a\n,b\n1,c\n", [["a", "c"]], "1 without a list id (line 3)"),
    "items": ("a.csv", "list,item\n1,a\n1,\n1\n1,c\n", [["a", "c"]], "2 without an item id (lines 3, 4)"),
    "blank lines": ("a.csv", "list,item\n1,a\n\n \n1,c\n,b\n", [["a", "c"]], "1 without a list id (line 6)"),
    "long rows": ("a.csv", "list,item\n1,a\n1,b,x\n1,c,,\n", [["a", "c"]], "1 with more fields than the first line"),
    "positions": (
        "a.csv", "list,item,pos\n1,a,2\n1,b,x\n1,c,1\n1,d,\n", [["c", "a"]],
        "2 with a position that is missing or not a whole number (lines 3: 'x', 5)",
    ),
    "times": (
        "a.csv", "list,item,date\n1,a,2026-01-02\n1,b,soon\n1,c,2026-01-01\n", [["c", "a"]],
        "1 with a time that is missing, or is neither a number nor ISO 8601 (line 3: 'soon')",
    ),
    "quotes": (
        "a.csv", 'list,item,x\n1,a,"two\nlines"\n1,b,"open\n1,b,"x"y\n1,c,12" mix\n,d,\n', [["a", "c"]],
        "2 with a quote that is not closed or in the wrong place (lines 4, 5), 1 without a list id (line 7)",
    ),
    "many": (
        "a.csv", "list,item\n1,a\n" + "1,\n" * 1234, [["a"]], "1,234 without an item id (lines 3, 4, 5, …)",
    ),
    "cells": ("a.csv", "id,items\n1,a b\n2,[a\n3,c NA\n", [["a", "b"], ["c"]], "1 that are not a JSON array (line 3: "),
    "json": (
        "a.jsonl", '{"items": ["a"]}\nnot json\n[1]\n{"x": 1}\n{"items": ["b", null, 1.5]}\n', [["a"], ["b"]],
        "1 that are not JSON (line 2: not json), 1 that are not a JSON object (line 3: [1]), 1 without a list of items "
        "(line 4: no 'items'), 1 without an item id (line 5), 1 with an item that is neither text nor a whole number "
        "(line 5: 1.5)",
    ),
    "json items": (
        "a.jsonl", '{"session": 1, "song": "a"}\n\n{"session": 1}\n{"session": 1, "song": true}\n', [["a"]],
        "1 with an item that is neither text nor a whole number (line 4: True), 1 without an item id (line 3)",
    ),
    "pairs": (
        "a.txt", "1 a\n\n1 b c\n1 NA\n1 d\n", [["a", "d"]],
        "1 that are not a pair of a list id and an item id (line 3: 1 b c), 1 without an item id (line 4)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_bad_rows_are_all_reported_with_their_lines_or_skipped(tmp_path: Path, case: str, line_end: str) -> None:
    name, text, lists, message = BAD[case]
    path = tmp_path / name
    path.write_bytes(text.replace("\n", line_end).encode())
    raw, skipped = read(path)
    assert as_ids(raw) == lists
    assert len(skipped) == 1 and message in skipped[0]
    with pytest.raises(BadInput) as error:
        read(path, Reading())
    assert message in str(error.value) and "cannot be used" in str(error.value)
    assert "correct them, or leave them out with" in str(error.value)


def test_rows_of_typed_tables_are_counted_from_one(tmp_path: Path) -> None:
    table = pl.DataFrame({"list": [1, 1, None], "item": ["a", "", "b"], "time": [1.7e9, 1.8e9, float("nan")]})
    table.write_parquet(tmp_path / "a.parquet")
    raw, (line,) = read(tmp_path / "a.parquet")
    assert as_ids(raw) == [["a"]] and line.endswith("1 without a list id (row 3), 1 without an item id (row 2)")


def test_texts_that_mean_missing_are_those_of_text_files_only(tmp_path: Path) -> None:
    table = pl.DataFrame({"list": ["1"] * 4, "item": ["NA", "null", "None", "NaN"]})
    table.write_csv(tmp_path / "a.csv")
    with pytest.raises(BadInput, match=r"4 rows cannot be used: 4 without an item id"):
        read(tmp_path / "a.csv", Reading())
    kept = Reading(null_values=("NA", ""))
    with pytest.raises(BadInput, match=r"1 without an item id \(line 2\)"):
        read(tmp_path / "a.csv", kept)
    assert as_ids(read(tmp_path / "a.csv", Reading(null_values=()))[0]) == [["NA", "null", "None", "NaN"]]
    table.write_parquet(tmp_path / "a.parquet")
    assert as_ids(read(tmp_path / "a.parquet", Reading())[0]) == [["NA", "null", "None", "NaN"]]
    assert as_ids(read_lists([["NA", "null"]])) == [["NA", "null"]]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", ":"])
@pytest.mark.parametrize("name", ["a.csv", "a.txt"])
def test_separator_is_detected_or_given(tmp_path: Path, separator: str, name: str) -> None:
    rows = [("list id", "item", "note"), ("1", "b", "x,y" if separator != "," else "x"), ("1", "a", "")]
    path = tmp_path / name
    path.write_bytes("\ufeff".encode() + "".join(separator.join(row) + "\r\n" for row in rows).encode())
    given = Reading(separator=separator)
    assert as_ids(read(path, given)[0]) == [["b", "a"]]
    if separator != ":":
        assert as_ids(read(path, Reading())[0]) == [["b", "a"]]


def test_lists_in_cells_do_not_hide_the_separator(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", 'id;items\n1;["a", "b", "c"]\n')
    assert as_ids(read(path, Reading())[0]) == [["a", "b", "c"]]
    assert as_ids(read(written(tmp_path, "b.csv", '1|["a", "b"]\n'), Reading())[0]) == [["a", "b"]]


def test_repeated_items_of_a_list_are_kept_or_dropped(tmp_path: Path) -> None:
    lists = [["a", "b", "a", "c", "b"], ["c", "c", "a"]] * 15
    small = {"min_item_count": 1, "min_length": 2, "categories": 1}
    lines: list[str] = []
    kept = prepare(lists, tmp_path / "kept", Preparation(**small))
    dropped = prepare(lists, tmp_path / "dropped", Preparation(duplicates="drop", **small), report=lines.append)
    assert (kept["interactions"], dropped["interactions"], dropped["longest"]) == (120, 75, 3)
    assert "duplicates: 45 items that their list had before were dropped" in lines


SMALL = Preparation(min_item_count=1, min_length=2, categories=1)


TEXTS = ([["108", "109"]], {"108": str, "109": str})
INTEGERS = ([[108, 109]], {"108": int, "109": int})
MIXED = ([[108, "109", "a"]], {"108": int, "109": str, "a": str})
BOTH = ([[108, "108", 7]], {"108": str, "7": int})
TYPED: list[tuple[str, Any]] = [(form, case) for form in ("lists", "jsonl") for case in (TEXTS, INTEGERS, MIXED, BOTH)]
TYPED += [(form, case) for form in ("parquet", "pandas") for case in (TEXTS, INTEGERS)]  # a column has one type


@pytest.mark.parametrize(("form", "case"), TYPED)
def test_ids_keep_their_type(tmp_path: Path, form: str, case: tuple[list[list[Any]], dict[str, type]]) -> None:
    lists, types = case
    source: object = lists * 12
    if form == "jsonl":
        source = written(tmp_path, "a.jsonl", "".join(json.dumps({"items": row}) + "\n" for row in lists * 12))
    elif form == "parquet":
        source = tmp_path / "a.parquet"
        pl.DataFrame({"items": lists * 12}).write_parquet(source)
    elif form == "pandas":
        source = pd.DataFrame({"list": [n for n in range(12) for _ in lists[0]], "item": lists[0] * 12})
    prepare(source, tmp_path / "corpus", SMALL)
    vocabulary = read_corpus(tmp_path / "corpus").vocabulary
    assert {vocabulary.ids[index]: type(vocabulary.id(index)) for index in range(len(vocabulary))} == types
    assert all(vocabulary.find(int(id_) if kind is int else id_) is not None for id_, kind in types.items())


def test_ids_of_a_text_file_are_integers_if_all_of_them_are(tmp_path: Path) -> None:
    for name, item, kind in (("a", "7", int), ("b", "x7", str), ("c", "007", str)):
        path = written(tmp_path, f"{name}.csv", "list,item\n" + "".join(f"{n},{item}\n{n},8\n" for n in range(12)))
        prepare(path, tmp_path / name, SMALL)
        vocabulary = read_corpus(tmp_path / name).vocabulary
        assert {type(vocabulary.id(index)) for index in range(2)} == {kind}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_length": 300}, "min.length 300 is more than .*max.length 200"),
        ({"min_length": 2.5}, "min.length 2.5 must be a whole number"),
        ({"on_bad_row": "drop"}, "on.bad.row drop must be error or skip"),
        ({"duplicates": "no"}, "duplicates no must be keep or drop"),
        ({"order": "rows"}, "order rows must be auto, position, time or file"),
        ({"separator": "::"}, "separator '::' must be comma, semicolon, tab, pipe or a single character"),
    ],
)
def test_settings_are_checked_before_anything_is_read(
    tmp_path: Path, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(BadSetting, match=message):
        prepare(tmp_path / "missing.csv", tmp_path / "corpus", Preparation(**settings))  # type: ignore[arg-type]


def test_items_file_and_folder_are_checked_before_the_lists_are_read(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"items: there is no file .*no\.csv"):
        prepare(tmp_path / "missing.csv", tmp_path / "corpus", items=tmp_path / "no.csv")
    (tmp_path / "file").touch()
    with pytest.raises(BadSetting, match="corpus cannot be written"):
        prepare(tmp_path / "missing.csv", tmp_path / "file" / "corpus")
