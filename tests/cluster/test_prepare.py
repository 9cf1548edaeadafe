"""A public set prepared on a cluster is byte-identical to the corpus of a single machine."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cluster.sharding import as_lines, as_one_file, as_parquet, as_rows
from fansrec.cluster.preparing.run import prepare_on_cluster
from fansrec.data import item_vectors
from fansrec.data.corpus import fingerprint, read_corpus
from fansrec.data.prepare import Preparation, prepare
from fansrec.data.sources import read_lists

pytestmark = pytest.mark.usefixtures("ray_local")

AOTM, SPOTIFY = "aotm/AotM.txt.zip", "spotify-attlist/listItem_spotify.txt.gz"
SETTINGS = {AOTM: Preparation(max_length=60), SPOTIFY: Preparation(min_length=20, max_length=300)}
COUNTS = {AOTM: [12_940, 6_264, 162_106], SPOTIFY: [3_310, 12_527, 261_708]}


def read_ids(source: Path) -> list[list[str]]:
    """Return the lists of a file as ids."""
    raw = read_lists(source)
    return [[raw.ids[item] for item in raw.lists.items[a:b].tolist()] for a, b in pairwise(raw.lists.offsets.tolist())]


def genres(lists: list[list[str]]) -> pl.DataFrame:
    """Return own categories, which need no learning, for every third item."""
    ids = sorted({item for items in lists for item in items})
    return pl.DataFrame({"item": ids, "name": [f"name {id_}" for id_ in ids], "category": [id_[-1] for id_ in ids]})[
        ::3
    ]


def counted(summary: dict[str, Any]) -> list[int]:
    return [summary[key] for key in ("lists", "items", "interactions")]


@pytest.mark.long
def test_parquet_rows_with_learned_categories_give_the_same_corpus(
    real_data: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_vectors, "MAX_INTERACTIONS", 40_000)  # otherwise CBOW takes ten seconds, twice
    rows = as_rows(read_ids(real_data(AOTM)))
    there = prepare_on_cluster(str(as_parquet(rows, tmp_path / "shards")), tmp_path / "there", SETTINGS[AOTM])
    here = prepare(rows, tmp_path / "here", SETTINGS[AOTM])
    assert counted(there) == COUNTS[AOTM]
    assert {**there, "source": ""} == {**here, "source": ""}
    corpus = read_corpus(tmp_path / "there")
    assert there["fingerprint"] == fingerprint(corpus) and len(corpus.shards) > 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "shards", "there"]


@pytest.mark.long
def test_parquet_rows_with_own_categories_give_the_same_corpus(
    real_data: Callable[[str], Path], tmp_path: Path
) -> None:
    lists = read_ids(real_data(SPOTIFY))
    rows, items = as_rows(lists), genres(lists)
    there = prepare_on_cluster(str(as_parquet(rows, tmp_path / "shards")), tmp_path / "there", SETTINGS[SPOTIFY], items)
    assert counted(there) == COUNTS[SPOTIFY]
    assert there["fingerprint"] == prepare(rows, tmp_path / "here", SETTINGS[SPOTIFY], items)["fingerprint"]


@pytest.mark.parametrize("name", [pytest.param(AOTM, marks=pytest.mark.long), SPOTIFY])
def test_json_lines_give_the_same_corpus(name: str, real_data: Callable[[str], Path], tmp_path: Path) -> None:
    lists = read_ids(real_data(name))
    shards, items = as_lines([{"items": row} for row in lists], tmp_path / "shards"), genres(lists)
    there = prepare_on_cluster(f"{shards}/*.jsonl", tmp_path / "there", SETTINGS[name], items)
    assert counted(there) == COUNTS[name]
    assert there["fingerprint"] == prepare(as_one_file(shards), tmp_path / "here", SETTINGS[name], items)["fingerprint"]


@pytest.mark.long
@pytest.mark.parametrize("name", [AOTM, SPOTIFY])
def test_categories_from_all_lists_give_the_same_corpus(
    name: str, real_data: Callable[[str], Path], tmp_path: Path
) -> None:
    rows = as_rows(read_ids(real_data(name)))
    there = prepare_on_cluster(str(as_parquet(rows, tmp_path / "shards")), tmp_path / "there", SETTINGS[name])
    assert there["fingerprint"] == prepare(rows, tmp_path / "here", SETTINGS[name])["fingerprint"]
