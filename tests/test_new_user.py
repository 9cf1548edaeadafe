"""From a file to a served model with one command per step, for three data sets as a new user has them."""

import json
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import fansrec
from cli.conftest import fans as fans  # the fixture
from cli.test_prepare import Fans
from fansrec.data.corpus import read_corpus
from new_user import BAD_ROWS, ITEMS, walks, write_json_lines, write_messy_csv, write_parquet
from serving.service import Running, until

SMALL = ("--min-item-count", 2, "--min-length", 3)


def corpus_lists(folder: Path) -> list[list[str | int]]:
    corpus = read_corpus(folder)
    return [[corpus.vocabulary.id(item) for item in corpus.list(index)] for index in range(len(corpus))]


def is_walk(items: list[Any]) -> bool:
    """Return whether the items are in the order in which they were written."""
    numbers = [int(str(item).removeprefix("item ")) for item in items]
    return all((after - before) % ITEMS == 1 for before, after in pairwise(numbers))


@pytest.fixture
def files(tmp_path: Path) -> dict[str, tuple[object, ...]]:
    """Write the three files; return the arguments of `fans prepare` for each."""
    lists = walks()
    write_messy_csv(tmp_path / "messy.csv", lists)
    write_parquet(tmp_path / "plays.parquet", lists)
    write_json_lines(tmp_path / "lists.jsonl", tmp_path / "tracks.jsonl", lists)
    return {
        "csv": (tmp_path / "messy.csv", "--on-bad-row", "skip"),
        "parquet": (tmp_path / "plays.parquet", "--split", "time"),
        "jsonl": (tmp_path / "lists.jsonl", "--items", tmp_path / "tracks.jsonl", "--group-column", "lead_singer"),
    }


def test_all_problems_of_a_messy_file_are_reported_at_once(fans: Fans, tmp_path: Path) -> None:
    lines = write_messy_csv(tmp_path / "messy.csv", walks())
    code, out, err = fans("prepare", tmp_path / "messy.csv", "--out", tmp_path / "corpus", *SMALL)
    assert code == 2 and not (tmp_path / "corpus").exists()
    assert f"messy.csv: {len(BAD_ROWS)} rows cannot be used" in err and "--on-bad-row skip" in err
    for line, problem in zip(lines, BAD_ROWS.values(), strict=True):
        assert problem in err and str(line) in err
    assert f"without an item id (lines {lines[0]}, {lines[1]})" in err
    assert "ordered by time 'Added-At' (ISO 8601, " in out


def test_three_data_sets_become_served_models_with_one_command_per_step(
    fans: Fans, files: dict[str, tuple[object, ...]], tmp_path: Path
) -> None:
    first: dict[str, str | int] = {}
    for name, arguments in files.items():
        corpus, run = tmp_path / f"{name}-corpus", tmp_path / name
        code, out, err = fans("prepare", *arguments, "--out", corpus, *SMALL)
        assert (code, err) == (0, "") and "columns: " in out
        lists = corpus_lists(corpus)
        assert len(lists) == 80 and all(map(is_walk, lists))
        assert fans("train", corpus, "--model", "item-knn", "--recipe", "paper", "--out", run)[0] == 0
        first[name] = lists[0][0]
        (answer,) = fansrec.load(run).continue_lists([lists[0][:3]], k=3)
        assert {type(item) for item in answer.items} <= {type(item) for row in lists for item in row}
        code, out, _ = fans("continue", run, str(first[name]), "-k", 3, "--json")
        assert code == 0 and {*json.loads(out)["items"]} <= {item for row in lists for item in row}
    assert [type(first[name]) for name in ("csv", "parquet")] == [int, str]
    with Running(*(tmp_path / name for name in files)) as service:
        for name in files:
            vocabulary = read_corpus(tmp_path / f"{name}-corpus").vocabulary
            known = {vocabulary.id(index) for index in range(len(vocabulary))}
            (answer,) = service.ask([[first[name]]], model=name, k=3).json()["answers"]
            assert {position["item"] for position in answer["positions"]} <= known
            search = partial(service.http.get, "/v1/items", params={"search": "102", "model": name})
            assert until(lambda search=search: search().status_code == 200)
            assert search().json()["items"][0]["item"] in known


def test_split_by_time_puts_the_newest_lists_into_the_test_part(
    fans: Fans, files: dict[str, tuple[object, ...]], tmp_path: Path
) -> None:
    for name in ("parquet", "jsonl"):
        corpus = tmp_path / f"{name}-dates"
        source = files[name][0]
        dates = ("--split", "time", "--split-at", "2025-02-20,2025-03-11")
        assert fans("prepare", source, "--out", corpus, *SMALL, *dates)[0] == 0
        summary = json.loads((corpus / "summary.json").read_text())
        assert summary["splits"] == {"train": 50, "valid": 19, "test": 11}  # 50 days to February 20, 19 to March 11
        assert (summary["split"]["by"], summary["split"]["test_from"]) == ("time", "2025-03-11")
