"""Ids and titles of lists, from every kind of source to the corpus."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fansrec.data.corpus import read_corpus
from fansrec.data.prepare import prepare
from fansrec.data.settings import Preparation
from fansrec.data.sources import read_lists

WIDE = pl.DataFrame({"pid": [7, 8], "name": ["Rain", None], "tracks": [["a", "b"], ["b", "c"]]})
LONG = pl.DataFrame({"pid": [7, 7, 8], "track": ["a", "b", "c"], "playlist_name": ["Rain", "Rain", None]})


def names_of(source: Any) -> tuple[list[str | None], list[str | None] | None]:
    names = read_lists(source).names
    assert names is not None
    return list(names.ids), None if names.titles is None else list(names.titles)


@pytest.mark.parametrize("table", [WIDE, LONG])
def test_names_in_a_dataframe(table: pl.DataFrame) -> None:
    assert names_of(table) == (["7", "8"], ["Rain", None])


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("wide", [True, False])
def test_names_in_files(tmp_path: Path, suffix: str, wide: bool) -> None:
    table, path = WIDE if wide else LONG, tmp_path / f"lists.{suffix}"
    if suffix == "csv":
        table = table.with_columns(pl.col("tracks").list.join(" ")) if wide else table
        table.write_csv(path)
    else:
        table.write_parquet(path) if suffix == "parquet" else table.write_ndjson(path)
    assert names_of(path) == (["7", "8"], ["Rain", None])


def test_id_of_a_list_in_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl"
    path.write_text('{"id": "x", "items": [1, 2], "title": "Rain"}\n{"items": [3]}\n')
    assert names_of(path) == (["x", None], ["Rain", None])


def test_title_of_an_item_is_not_that_of_a_list() -> None:
    assert names_of(LONG.rename({"playlist_name": "title"}))[1] is None


def test_pairs_have_ids(tmp_path: Path) -> None:
    path = tmp_path / "lists.txt"
    path.write_text("p q\np r\ns q\n")
    assert names_of(path) == (["p", "s"], None)


def test_lists_without_ids_have_no_names(tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl"
    path.write_text('{"items": [1, 2]}\n')
    assert read_lists([["a", "b"]]).names is None and read_lists(path).names is None


def test_ids_that_several_lists_have_are_not_kept() -> None:
    report: list[str] = []
    raw = read_lists(WIDE.with_columns(pl.lit("u").alias("pid")), report=report.append)
    assert raw.names is not None and list(raw.names.ids) == [None, None]
    assert any("several lists have the same id" in line for line in report)


def test_corpus_has_the_names_of_the_lists_that_passed_the_filter(tmp_path: Path) -> None:
    lists = [{"id": f"l{n}", "items": [1, 2, 3] if n % 2 else [n], "title": f"Title {n}"} for n in range(40)]
    source = tmp_path / "lists.jsonl"
    source.write_text("".join(json.dumps(one) + "\n" for one in lists))
    prepare(source, tmp_path / "corpus", Preparation(min_item_count=2, min_length=2, categories=1))
    names = read_corpus(tmp_path / "corpus").list_names
    assert names is not None and list(names.ids) == [f"l{n}" for n in range(1, 40, 2)]
    assert names.title(0) == "Title 1"
