import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from fansrec.data.corpus import fingerprint, read_corpus
from fansrec.data.prepare import Preparation, prepare
from fansrec.errors import BadArtifact, BadInput, BadSetting, FansError

SMALL = Preparation(min_item_count=2, min_length=3, max_length=8, categories=3)


def some_lists(lists: int = 60, items: int = 20) -> list[list[str]]:
    random = np.random.default_rng(5)
    return [[f"i{int(item)}" for item in random.integers(0, items, random.integers(4, 10))] for _ in range(lists)]


def changed(**settings: Any) -> Preparation:
    return Preparation(**{**vars(SMALL), **settings})


def test_a_corpus_holds_the_same_lists_as_the_source(tmp_path: Path) -> None:
    lists = some_lists()
    prepare(lists, tmp_path / "corpus", changed(min_item_count=1))
    corpus = read_corpus(tmp_path / "corpus")
    back = [[corpus.vocabulary.ids[item] for item in corpus.list(index)] for index in range(len(corpus))]
    assert back == [items[:8] for items in lists]


def test_items_are_sorted_by_category_then_frequency_in_training_then_id(tmp_path: Path) -> None:
    prepare(some_lists(), tmp_path / "corpus", SMALL)
    corpus = read_corpus(tmp_path / "corpus")
    train = np.concatenate([corpus.list(index) for index in corpus.part("train")])
    frequency = np.bincount(train, minlength=len(corpus.vocabulary))
    keys = [
        (int(category), -int(frequency[item]), corpus.vocabulary.ids[item])
        for item, category in enumerate(corpus.vocabulary.categories)
    ]
    assert keys == sorted(keys)
    assert np.all(np.diff(corpus.vocabulary.starts) > 0)


def test_the_summary_counts_what_the_corpus_holds(tmp_path: Path) -> None:
    summary = prepare(some_lists(), tmp_path / "corpus", SMALL)
    corpus = read_corpus(tmp_path / "corpus")
    assert corpus.summary == summary
    assert summary["lists"] == len(corpus) == sum(summary["splits"].values())
    assert summary["interactions"] == len(corpus.items)
    assert summary["items"] == len(corpus.vocabulary) == len(np.unique(corpus.items))
    assert (summary["shortest"], summary["longest"]) == (corpus.lengths.min(), corpus.lengths.max())
    assert summary["fingerprint"] == fingerprint(corpus)
    assert summary["categories"] == 3
    assert summary["categories_taught_by"]["lists"] == summary["splits"]["train"]
    assert summary["preparation"]["max_length"] == 8
    assert summary["source"] == "lists"


def test_a_file_is_named_in_the_summary_without_its_folder(tmp_path: Path) -> None:
    source = tmp_path / "mine.jsonl"
    source.write_text("".join(f'{{"items": {items}}}\n'.replace("'", '"') for items in some_lists()))
    prepare(source, tmp_path / "corpus", SMALL)
    assert str(tmp_path) not in (tmp_path / "corpus" / "summary.json").read_text()
    assert read_corpus(tmp_path / "corpus").summary["source"] == "mine.jsonl"


@pytest.mark.parametrize(("lists", "integers"), [([[1, 2, -3]], True), ([["1", "2"]], False), ([["a", 3]], False)])
def test_integer_ids_are_detected(tmp_path: Path, lists: list[list[Any]], integers: bool) -> None:
    prepare([lists[0] * 3] * 20, tmp_path / "corpus", changed(categories=1))
    assert read_corpus(tmp_path / "corpus").vocabulary.integer_ids is integers


def test_lists_with_one_value_of_a_column_fall_into_one_part(tmp_path: Path) -> None:
    table = pl.DataFrame({"items": some_lists(), "city": [f"c{number % 12}" for number in range(60)]})
    prepare(table, tmp_path / "corpus", changed(min_item_count=1, split_by="city"))
    parts = read_corpus(tmp_path / "corpus").parts
    assert all(len(set(parts[city::12])) == 1 for city in range(12))


def test_groups_of_the_remaining_lists_are_kept(tmp_path: Path) -> None:
    lists = [["a", "b"], *some_lists()]  # the first one is too short, and so its city has no list
    table = pl.DataFrame({"items": lists, "city": ["nowhere", *(f"c{number % 12}" for number in range(60))]})
    prepare(table, tmp_path / "corpus", changed(min_item_count=1, split_by="city"))
    corpus = read_corpus(tmp_path / "corpus")
    assert corpus.groups is not None and corpus.groups.dtype == np.int64
    assert corpus.groups.tolist() == [number % 12 for number in range(60)]


def test_corpus_without_groups_has_the_files_of_earlier_versions(tmp_path: Path) -> None:
    prepare(some_lists(), tmp_path / "corpus", SMALL)
    corpus = read_corpus(tmp_path / "corpus")
    assert corpus.groups is None and not (tmp_path / "corpus" / "groups.npy").exists()
    digest = hashlib.sha256(b"".join(corpus.vocabulary.files().values()))
    for array in (np.asarray(corpus.items), corpus.offsets, corpus.parts):
        digest.update(array.tobytes())
    assert corpus.summary["fingerprint"] == digest.hexdigest()


def test_groups_are_part_of_the_fingerprint(tmp_path: Path) -> None:
    prepare(some_lists(), tmp_path / "corpus", SMALL)
    corpus = read_corpus(tmp_path / "corpus")
    groups = np.arange(len(corpus))
    assert len({fingerprint(replace(corpus, groups=value)) for value in (None, groups, groups // 2)}) == 3


def test_corpus_with_a_damaged_group_file_is_refused(tmp_path: Path) -> None:
    prepare(some_lists(), tmp_path / "corpus", SMALL)
    np.save(tmp_path / "corpus" / "groups.npy", np.zeros(3, dtype=np.int64))
    with pytest.raises(BadArtifact, match="do not match"):
        read_corpus(tmp_path / "corpus")


def items_table(categories: bool = True) -> pl.DataFrame:
    table = pl.DataFrame({"id": [f"i{i}" for i in range(20)], "title": [f"Song {i}" for i in range(20)]})
    colors = [None if i == 4 else ("red" if i % 2 else "blue") for i in range(20)]
    return table.with_columns(pl.Series("category", colors)) if categories else table


@pytest.mark.parametrize("categories", ["own", None])
def test_own_categories_of_the_items_file_are_used(tmp_path: Path, categories: Any) -> None:
    summary = prepare(some_lists(), tmp_path / "corpus", changed(categories=categories), items=items_table())
    vocabulary = read_corpus(tmp_path / "corpus").vocabulary
    assert vocabulary.category_names == ["blue", "red"]
    by_id = {id_: vocabulary.category(index) for index, id_ in enumerate(vocabulary.ids)}
    assert by_id["i3"] == "red" and by_id["i2"] == "blue" and by_id["i4"] in ("red", "blue")
    assert summary["categories_from"] == "own"
    assert vocabulary.name(0) == "Song " + vocabulary.ids[0][1:]


def test_given_number_of_categories_overrides_the_items_file(tmp_path: Path) -> None:
    assert prepare(some_lists(), tmp_path / "corpus", SMALL, items=items_table())["categories"] == 3


def test_categories_may_be_learned_from_all_lists(tmp_path: Path) -> None:
    summary = prepare(some_lists() + [["i1"], ["rare"]], tmp_path / "corpus", changed(categories_from="all"))
    assert summary["categories_from"] == "all"
    assert summary["categories_taught_by"]["lists"] == 62
    assert summary["lists"] == 60


def test_every_stage_is_reported(tmp_path: Path) -> None:
    lines: list[str] = []
    prepare(some_lists(), tmp_path / "corpus", changed(categories=None), report=lines.append)
    assert [line.split(":")[0] for line in lines] == [
        "read", "filtered", "split", "categories", "categorized", "written"
    ]  # fmt: skip
    assert "categories: N = 4 (chosen from 20 items)" in lines


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_item_count": 0}, "--min-item-count"),
        ({"min_length": 1}, "--min-length"),
        ({"max_length": 2}, "--max-length"),
        ({"categories": 0}, "--categories"),
        ({"categories": "mine"}, "--categories"),
        ({"categories": 21}, "more than the 20 items left"),
        ({"categories": "own"}, "--items"),
        ({"categories_from": "test"}, "--categories-from"),
        ({"split": "odd"}, "--split"),
        ({"split": "file-order", "split_by": "city"}, "--split-by"),
        ({"seed": -1}, "--seed"),
    ],
)
def test_invalid_settings_are_refused(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(BadSetting) as error:
        prepare(some_lists(), tmp_path / "corpus", changed(**settings))
    assert message in error.value.on_command_line
    assert list(tmp_path.iterdir()) == []


def test_error_says_why_all_lists_were_filtered(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no list is left of 60: 20 items were too rare .* 60 lists were too short"):
        prepare(some_lists(), tmp_path / "corpus", changed(min_item_count=1000))
    with pytest.raises(BadInput, match=r"0 items .* 60 lists were too short|60 lists were too short"):
        prepare(some_lists(), tmp_path / "corpus", changed(min_length=50, max_length=60))
    assert list(tmp_path.iterdir()) == []


def test_own_categories_without_a_category_column_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="gives no item a category"):
        prepare(some_lists(), tmp_path / "corpus", changed(categories="own"), items=items_table(categories=False))


def test_an_out_path_that_exists_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "mine").touch()
    with pytest.raises(BadSetting, match="exists and is not the corpus of an earlier run"):
        prepare(some_lists(), tmp_path / "corpus", SMALL)
    assert [path.name for path in (tmp_path / "corpus").iterdir()] == ["mine"]


def test_an_out_path_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FansError, match="cannot be written"):
        prepare(some_lists(), tmp_path / "file" / "corpus", SMALL)


CHILD = """
import sys
from pathlib import Path
from fansrec.data.prepare import Preparation, prepare
prepare(Path(sys.argv[1]), Path(sys.argv[2]), Preparation(2, 3, 8, 3, split_by="city"))
"""


def hashes(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def test_one_seed_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    table = pl.DataFrame({"items": some_lists(400), "city": [f"c{number % 50}" for number in range(400)]})
    long = (
        table.with_row_index("list").explode("items").rename({"items": "item"}).sample(fraction=1, shuffle=True, seed=1)
    )
    long.write_parquet(tmp_path / "lists.parquet")
    for seed in ("1", "2"):
        arguments = [sys.executable, "-c", CHILD, str(tmp_path / "lists.parquet"), str(tmp_path / seed)]
        subprocess.run(arguments, env={**os.environ, "PYTHONHASHSEED": seed}, check=True, timeout=120)
    assert hashes(tmp_path / "1") == hashes(tmp_path / "2")
    assert len(hashes(tmp_path / "1")) == 8 and "groups.npy" in hashes(tmp_path / "1")


def test_another_seed_gives_another_corpus(tmp_path: Path) -> None:
    for seed in (1, 2):
        prepare(some_lists(), tmp_path / str(seed), changed(seed=seed))
    assert hashes(tmp_path / "1")["parts.npy"] != hashes(tmp_path / "2")["parts.npy"]
