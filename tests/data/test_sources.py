import gzip
import itertools
import json
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from fansrec.data.columns import Columns
from fansrec.data.lists import RawLists
from fansrec.data.reading import Reading
from fansrec.data.sources import read_lists, source_name
from fansrec.errors import BadInput

LISTS = [["b", "a", "b"], ["c"], ["a", "c"]]
LONG = [("y", "b"), ("y", "a"), ("y", "b"), ("x", "c"), ("z", "a"), ("z", "c")]


def as_ids(raw: RawLists) -> list[list[str]]:
    offsets = raw.lists.offsets.tolist()
    ids = [raw.ids[item] for item in raw.lists.items.tolist()]
    return [ids[start:end] for start, end in itertools.pairwise(offsets)]


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def joined(rows: list[tuple[str, ...]], separator: str) -> str:
    return "".join(separator.join(row) + "\n" for row in rows)


def wide_rows() -> list[dict[str, Any]]:
    return [{"id": number, "items": items} for number, items in enumerate(LISTS)]


SOURCES = {
    "long.csv": joined([("list_id", "item_id"), *LONG], ","),
    "long.tsv": joined([("Playlist_ID", "Track_ID"), *LONG], "\t"),
    "pairs.txt": joined(LONG, " "),
    "spaced_pairs.txt": joined(LONG, "\t  ").replace("\n", " \r\n") + "\n",
    "wide.jsonl": "".join(json.dumps(row) + "\n\n" for row in wide_rows()),
    "wide.csv": "id,items\n" + "".join(f"{i},{' '.join(items)}\n" for i, items in enumerate(LISTS)),
    "wide_json.csv": pd.DataFrame(wide_rows()).assign(items=[json.dumps(i) for i in LISTS]).to_csv(index=False),
    "wide_json.tsv": "id\titems\n" + "".join(f"{i}\t{json.dumps(items)}\n" for i, items in enumerate(LISTS)),
    "quoted.tsv": pd.DataFrame({"items": [json.dumps(i) for i in LISTS]}).to_csv(index=False, sep="\t"),
    "headerless.txt": "".join(f"{i}\t{json.dumps(items)}\n" for i, items in enumerate(LISTS)),
    "bom.csv": "\ufeff" + joined([("list_id", "item_id"), *LONG], ","),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_text_format_gives_the_same_lists(tmp_path: Path, name: str) -> None:
    assert as_ids(read_lists(written(tmp_path, name, SOURCES[name]))) == LISTS


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("compression", ["gz", "zip"])
def test_every_text_format_may_be_compressed(tmp_path: Path, name: str, compression: str) -> None:
    path = tmp_path / f"{name}.{compression}"
    if compression == "gz":
        path.write_bytes(gzip.compress(SOURCES[name].encode()))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, SOURCES[name])
    assert as_ids(read_lists(path)) == LISTS


@pytest.mark.parametrize("compressed", [False, True])
def test_parquet_in_both_layouts_gives_the_same_lists(tmp_path: Path, compressed: bool) -> None:
    for number, table in enumerate([long_table(), pl.DataFrame(wide_rows())]):
        path = tmp_path / f"{number}.parquet"
        table.write_parquet(path)
        if compressed:
            compressed_path = tmp_path / f"{number}.parquet.gz"
            compressed_path.write_bytes(gzip.compress(path.read_bytes()))
            path = compressed_path
        assert as_ids(read_lists(path)) == LISTS


def long_table() -> pl.DataFrame:
    return pl.DataFrame(LONG, schema=["list", "item"], orient="row")


@pytest.mark.parametrize(
    "source",
    [
        long_table(),
        long_table().with_columns(pl.col("item").cast(pl.Categorical)),
        long_table().lazy(),
        long_table().to_pandas(),
        pl.DataFrame(wide_rows()),
        pd.DataFrame(wide_rows()),
        pd.DataFrame(wide_rows()).assign(items=[" ".join(items) for items in LISTS]),
        LISTS,
        tuple(tuple(items) for items in LISTS),
    ],
    ids=lambda source: type(source).__module__.split(".")[0],
)
def test_tables_and_plain_lists_in_memory_give_the_same_lists(source: Any) -> None:
    assert as_ids(read_lists(source)) == LISTS


def test_integers_become_text_and_leading_zeros_stay(tmp_path: Path) -> None:
    assert as_ids(read_lists([[7, 12], ["007"]])) == [["7", "12"], ["007"]]
    assert as_ids(read_lists(pl.DataFrame({"list": [1, 1], "item": [12, 7]}))) == [["12", "7"]]
    assert as_ids(read_lists(written(tmp_path, "a.csv", "list,item\n1,007\n1,7\n"))) == [["007", "7"]]


def test_rows_of_a_list_need_not_be_contiguous() -> None:
    table = pl.DataFrame({"list": [2, 1, 2, 1], "item": ["a", "b", "c", "d"]})
    assert as_ids(read_lists(table)) == [["a", "c"], ["b", "d"]]


def test_a_position_column_orders_the_items(tmp_path: Path) -> None:
    text = "list,position,item\n1,10,c\n1,9,b\n2,1,x\n1,2,a\n"
    assert as_ids(read_lists(written(tmp_path, "a.csv", text))) == [["a", "b", "c"], ["x"]]


def test_sorted_positions_keep_their_order() -> None:
    table = pl.DataFrame({"list": [1, 1, 2], "pos": [0, 1, 0], "item": ["b", "a", "c"]})
    assert as_ids(read_lists(table)) == [["b", "a"], ["c"]]


def test_columns_may_be_named_by_the_user() -> None:
    table = pl.DataFrame({"who": [1, 1], "what": ["b", "a"], "when": [2, 1], "item": ["no", "no"]})
    assert as_ids(read_lists(table, Reading(Columns(list="who", item="what", position="when")))) == [["a", "b"]]
    wide = pl.DataFrame({"seen": [["b", "a"]], "items": [["no"]]})
    assert as_ids(read_lists(wide, Reading(Columns(items="seen")))) == [["b", "a"]]


def test_an_empty_list_stays_a_list_without_items(tmp_path: Path) -> None:
    assert as_ids(read_lists([["a"], []])) == [["a"], []]
    assert as_ids(read_lists(written(tmp_path, "a.csv", "id,items\n1,\n2,a b\n"))) == [[], ["a", "b"]]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "wide.parquet"])
def test_the_values_of_the_split_column_are_kept(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    rows = [("x", "red", ["a", "b"]), ("y", "blue", ["c"]), ("z", "red", ["a"])]
    long = [{"list": id_, "color": color, "item": item} for id_, color, items in rows for item in items]
    if name == "a.csv":
        pl.DataFrame(long).write_csv(path)
    elif name == "a.parquet":
        pl.DataFrame(long).write_parquet(path)
    elif name == "wide.parquet":
        pl.DataFrame(rows, schema=["id", "color", "items"], orient="row").write_parquet(path)
    else:
        path.write_text("".join(json.dumps({"id": i, "color": c, "items": x}) + "\n" for i, c, x in rows))
    groups = read_lists(path, Reading(split_by="color")).groups
    assert groups is not None and groups.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.csv",
            "list,thing\n1,2\n",
            "no column of item ids was found (columns: list, thing); name it with --item-col",
        ),
        ("a.csv", "list,Track Name\n1,2\n", "for example --item-column 'Track Name'"),
        ("a.csv", "x,item\n1,2\n", "--list-column"),
        ("a.csv", "x,y\n1,2\n", "--list-column and --item-column"),
        ("a.csv", "  \n\n", "is empty"),
        ("a.csv", "list,item\n", "contains no lists"),
        ("a.csv", "list,item\n1,a\n1,\n", "1 without an item id (line 3)"),
        ("a.csv", 'list,item\n1,a\n1,""\n', "1 without an item id (line 3)"),
        ("a.csv", "list,item\n1,a\n,b\n", "1 without a list id (line 3)"),
        ("a.csv", "list,item\n1,a\n1,b,c\n", "1 with more fields than the first line (line 3)"),
        ("a.tsv", "list\titem\tx\n1\ta\ty\n1\tb\tc\td\n", "1 with more fields than the first line (line 3)"),
        ("a.csv", "list,item,position\n1,a,1\n1,b,\n", "1 with a position that is missing"),
        ("a.csv", "list,item,position\n1,a,1\n1,b,two\n", "or not a whole number (line 3: 'two')"),
        ("a.csv", "id,items\n1,\"['a']\"\n", "1 that are not a JSON array (line 2: \"['a']\")"),
        ("a.csv", 'id,items\n1,"[""a"", null]"\n', "1 without an item id (line 2)"),
        ("a.jsonl", '{"id": 1, "items": ["a"]}\n{"id": 2, "items": [null]}\n', "1 without an item id (line 2)"),
        (
            "a.jsonl",
            '{"id": 1, "items": [1.5]}\n',
            "with an item that is neither text nor a whole number (line 1: 1.5)",
        ),
        (
            "a.jsonl",
            '{"id": 1, "items": [true]}\n',
            "with an item that is neither text nor a whole number (line 1: True)",
        ),
        ("a.jsonl", '{"id": 1, "items": "a b"}\n', "1 without a list of items (line 1: no 'items')"),
        ("a.jsonl", '{"id": 1, "things": ["a"]}\n', "1 without a list of items (line 1: no 'items')"),
        ("a.jsonl", '{"id": 1,\n', "1 that are not JSON (line 1: "),
        ("a.jsonl", "[1, 2]\n", "1 that are not a JSON object (line 1: [1, 2])"),
        ("a.jsonl", '{"items": ["\\ud800"]}\n', "1 that are not JSON (line 1: "),
        ("a.jsonl", "[" * 100_000 + "\n", "1 that are not JSON (line 1: "),
        ("a.txt", "1 2\n1 2 3\n", "1 that are not a pair of a list id and an item id (line 2: 1 2 3)"),
        ("a.xyz", "1 2\n", "unknown extension"),
        ("a.parquet", "no parquet at all", "cannot be read"),
    ],
)
def test_bad_files_are_refused_with_the_location(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(BadInput) as error:
        read_lists(written(tmp_path, name, text))
    assert message in error.value.on_command_line
    assert name in str(error.value)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt", "a.jsonl"])
def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes("list,item\n".encode("utf-16"))
    with pytest.raises(BadInput, match="not UTF-8"):
        read_lists(tmp_path / name)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (["abc"], "list 1 is 'abc'"),
        ([["a"], [None]], r"without an item id \(list 2\)"),
        ([["a", ""]], "without an item id"),
        ([], "contains no lists"),
        (pl.DataFrame({"list": [1], "item": [1.5]}), "holds Float64"),
        (pl.DataFrame({"list": [1, 1], "item": ["a", None]}), r"without an item id \(row 2\)"),
        (pl.DataFrame({"items": [["a"], ["b", None]]}), r"without an item id \(row 2\)"),
        (pl.DataFrame({"items": [["a"], ["b", ""]]}), r"without an item id \(row 2\)"),
        (pl.DataFrame({"items": [[1.5]]}), "holds Float64"),
        (pl.DataFrame({"items": [1]}), "lists must be arrays"),
        (pd.DataFrame({"list": [1, 1], "item": [1, "a"]}), "mixed types"),
    ],
    ids=repr,
)
def test_bad_tables_and_lists_in_memory_are_refused(source: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_lists(source)


def test_an_unknown_split_column_is_refused(tmp_path: Path) -> None:
    lines = written(tmp_path, "a.jsonl", '{"id": 1, "items": ["a"]}\n')
    for source in (long_table(), lines, LISTS):
        with pytest.raises(BadInput, match="venue"):
            read_lists(source, Reading(split_by="venue"))


def test_a_list_with_two_values_in_the_split_column_is_refused() -> None:
    table = pl.DataFrame({"list": [1, 1], "item": ["a", "b"], "venue": ["x", "y"]})
    with pytest.raises(BadInput, match=r"list 1 has several values.*'x', 'y'"):
        read_lists(table, Reading(split_by="venue"))


def test_a_source_is_named_without_its_folders() -> None:
    assert source_name(Path("/some/where/lists.csv")) == "lists.csv"
    assert source_name(pl.DataFrame()) == "dataframe"
    assert source_name([["a"]]) == "lists"
