"""Preparation on a cluster from small shards."""

import functools
import gzip
import http.server
import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from cluster.sharding import as_lines, as_one_file, as_parquet, as_rows
from fansrec.cli.main import app
from fansrec.cluster.preparing import categories, grouping, item_counts, item_index, pieces
from fansrec.cluster.preparing.run import prepare_on_cluster
from fansrec.cluster.storage import StoredFile
from fansrec.data import item_vectors
from fansrec.data.prepare import Preparation, prepare
from fansrec.errors import BadInput

pytestmark = pytest.mark.usefixtures("ray_local")

SMALL = Preparation(min_item_count=3, min_length=3, max_length=8, categories=3)


def some_lists(lists: int = 90, items: int = 30) -> list[list[str]]:
    random = np.random.default_rng(5)
    return [[f"i{int(item)}" for item in random.integers(0, items, random.integers(4, 10))] for _ in range(lists)]


def changed(**settings: Any) -> Preparation:
    return Preparation(**{**vars(SMALL), **settings})


def logged(lists: list[list[str]]) -> pl.DataFrame:
    """Return shuffled rows with positions, and a city for each list."""
    rows = [(n, item, position, f"c{n % 11}") for n, items in enumerate(lists) for position, item in enumerate(items)]
    table = pl.DataFrame(rows, schema=["list_id", "item_id", "position", "city"], orient="row")
    return table.sample(fraction=1, shuffle=True, seed=3)


def test_lists_spread_over_all_shards_are_grouped_and_split(tmp_path: Path) -> None:
    rows, preparation = logged(some_lists()), changed(split_by="city", categories_from="all")
    there = prepare_on_cluster(str(as_parquet(rows, tmp_path / "shards", 4)), tmp_path / "there", preparation)
    assert there["fingerprint"] == prepare(rows, tmp_path / "here", preparation)["fingerprint"]
    assert (tmp_path / "there" / "groups.npy").read_bytes() == (tmp_path / "here" / "groups.npy").read_bytes()


def test_sample_for_the_vectors_is_the_same_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_vectors, "MAX_INTERACTIONS", 200)
    cities = [{"items": items, "city": number % 7} for number, items in enumerate(some_lists())]
    shards, preparation, lines = as_lines(cities, tmp_path / "shards"), changed(split_by="city"), list[str]()
    there = prepare_on_cluster(str(shards), tmp_path / "there", preparation, report=lines.append)
    assert there["fingerprint"] == prepare(as_one_file(shards), tmp_path / "here", preparation)["fingerprint"]
    assert 150 < there["categories_taught_by"]["interactions"] <= 200
    sample = there["categories_taught_by"]
    expected = f"sampled for the vectors: {sample['lists']} lists, {sample['interactions']} of "
    assert any(line.startswith(expected) for line in lines)


def test_many_small_tasks_give_the_same_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = some_lists(400, 1200)
    preparation = changed(min_item_count=2, min_length=2)
    here = prepare(as_rows(lists), tmp_path / "here", preparation)
    monkeypatch.setattr(item_counts, "MIN_RANGE", 5)
    monkeypatch.setattr(item_index, "MAX_TABLE_IDS", 70)
    monkeypatch.setattr(grouping, "ROWS_PER_TASK", 500)
    monkeypatch.setattr(item_vectors, "MAX_CLUSTERED_ITEMS", 9)  # so that several tasks predict clusters
    there = prepare_on_cluster(str(as_parquet(as_rows(lists), tmp_path / "shards")), tmp_path / "there", preparation)
    assert there["items"] > 2 * categories.KMEANS_CHUNK
    assert there["fingerprint"] == here["fingerprint"]


def test_large_files_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"SPLIT_BYTES": 1000, "PIECE_ROWS": 200, "PIECE_BYTES": 900}.items():
        monkeypatch.setattr(pieces, name, value)
    lists = some_lists()
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"items": items}) + "\n" for items in lists))
    pl.DataFrame({"items": lists}).write_parquet(tmp_path / "a.parquet", row_group_size=20)
    as_rows(lists).write_parquet(tmp_path / "b.parquet", row_group_size=100)
    for number, name in enumerate(("a.jsonl", "b.parquet")):
        assert len(pieces.split_source(str(tmp_path / name))) > 2
        there = prepare_on_cluster(str(tmp_path / name), tmp_path / f"there-{number}", SMALL)
        assert there["fingerprint"] == prepare(tmp_path / name, tmp_path / f"here-{number}", SMALL)["fingerprint"]


def test_pieces_and_shards_without_lists_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [json.dumps({"items": items}) for items in some_lists()]
    lines.insert(20, json.dumps({"items": ["i1", "i2", "i3"], "note": "x" * 3000}))
    shards, whole = tmp_path / "shards", "\n".join(lines) + "\n"
    shards.mkdir()
    (shards / "a.jsonl").write_text(whole)
    (shards / "b.jsonl").write_text("\n \n")
    (shards / "c.jsonl.gz").write_bytes(gzip.compress(b""))
    (shards / "d.jsonl").write_text("")
    monkeypatch.setattr(pieces, "SPLIT_BYTES", 1000)
    monkeypatch.setattr(pieces, "PIECE_BYTES", (len(whole) - 10) // 5)  # the last one starts inside the last line
    there = prepare_on_cluster(str(shards), tmp_path / "there", SMALL)
    assert there["fingerprint"] == prepare(shards / "a.jsonl", tmp_path / "here", SMALL)["fingerprint"]
    (shards / "a.jsonl").unlink()
    with pytest.raises(BadInput, match="shards contains no lists"):
        prepare_on_cluster(str(shards), tmp_path / "nowhere", SMALL)


def test_split_key_may_be_missing_from_some_shards_but_not_from_all(tmp_path: Path) -> None:
    rows = [{"items": items} | ({"city": n % 5} if n < 30 else {}) for n, items in enumerate(some_lists())]
    shards, preparation = as_lines(rows, tmp_path / "shards"), changed(split_by="city")
    there = prepare_on_cluster(str(shards), tmp_path / "there", preparation)
    assert there["fingerprint"] == prepare(as_one_file(shards), tmp_path / "here", preparation)["fingerprint"]
    with pytest.raises(BadInput, match="shards: no list has the key 'town' to split by"):
        prepare_on_cluster(str(shards), tmp_path / "nowhere", changed(split_by="town"))


class CutOff(io.BytesIO):
    """A file whose library raises an exception that is not an OSError."""

    def read(self, *_: object) -> bytes:
        raise aiohttp.ClientPayloadError("cut off")


def test_storage_error_names_the_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "open_file", lambda *_: CutOff())
    piece = pieces.Piece(StoredFile("s3://lists/a.parquet", 10, "1"))
    with pytest.raises(BadInput, match=r"^s3://lists/a\.parquet cannot be read \(cut off\)$"), pieces.local_copy(piece):
        pass


def test_damaged_shard_is_named_and_a_rerun_reads_only_that_shard(tmp_path: Path) -> None:
    rows = as_rows(some_lists())
    shards = as_parquet(rows, tmp_path / "shards", 4)
    whole = (shards / "part-1.parquet").read_bytes()
    (shards / "part-1.parquet").write_bytes(whole[:100])
    with pytest.raises(BadInput, match=r"part-1\.parquet cannot be read") as error:
        prepare_on_cluster(str(shards), tmp_path / "there", SMALL)
    assert "\n" not in str(error.value) and not (tmp_path / "there").exists()
    (shards / "part-1.parquet").write_bytes(whole)
    lines: list[str] = []
    there = prepare_on_cluster(str(shards), tmp_path / "there", SMALL, report=lines.append)
    assert lines[0] == "kept: 3 of 4 shards were read before"
    assert there["fingerprint"] == prepare(rows, tmp_path / "here", SMALL)["fingerprint"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "shards", "there"]


def test_errors_are_those_of_a_single_machine(tmp_path: Path) -> None:
    mixed = pl.DataFrame({"list_id": [1, 2, 1], "item_id": ["a", "b", "c"], "city": ["x", "y", "z"]})
    empty = pl.DataFrame({"list_id": [1, 2, 1], "item_id": ["a", None, "c"]})
    for number, (table, settings, message) in enumerate(
        (
            (mixed, changed(split_by="city"), r"list 1 has several values in the split column \('x', 'z'\)"),
            (empty, SMALL, r"part-1.parquet: 1 row cannot be used: 1 without an item id \(row 1\)"),
            (empty, changed(split_by="city"), "there is no column 'city'"),
        )
    ):
        shards = as_parquet(table, tmp_path / f"{number}")
        with pytest.raises(BadInput, match=message):
            prepare_on_cluster(str(shards), tmp_path / "there", settings)


def test_shards_of_different_layouts_are_refused(tmp_path: Path) -> None:
    shards = as_parquet(as_rows(some_lists(9)), tmp_path / "shards")
    pl.DataFrame({"items": some_lists(9)}).write_parquet(shards / "part-3.parquet")
    with pytest.raises(BadInput, match=r"part-0\.parquet and .*part-3\.parquet have different layouts"):
        prepare_on_cluster(str(shards), tmp_path / "there", SMALL)
    with pytest.raises(BadInput, match="there is no file"):
        prepare_on_cluster(str(tmp_path / "nowhere"), tmp_path / "there", SMALL)


@pytest.fixture
def website(tmp_path: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_url_is_read_like_a_file(tmp_path: Path, website: str) -> None:
    pl.DataFrame({"items": some_lists()}).write_parquet(tmp_path / "a.parquet")
    there = prepare_on_cluster(f"{website}/a.parquet", tmp_path / "there", SMALL)
    assert there["fingerprint"] == prepare(tmp_path / "a.parquet", tmp_path / "here", SMALL)["fingerprint"]


def test_command_accepts_a_folder_of_shards(tmp_path: Path) -> None:
    shards = as_lines([{"items": items} for items in some_lists()], tmp_path / "shards")
    settings = ["--min-item-count", "3", "--min-length", "3", "--max-length", "8", "--categories", "3"]
    arguments = ["prepare", str(shards), "--out", str(tmp_path / "there"), *settings]
    done = CliRunner().invoke(app, [*arguments, "--engine", "ray", "--ray", "always"])
    assert done.exit_code == 0 and "lists of" in done.output.splitlines()[-1]
    here = prepare(as_one_file(shards), tmp_path / "here", SMALL)
    assert json.loads((tmp_path / "there" / "summary.json").read_text())["fingerprint"] == here["fingerprint"]
    refused = CliRunner().invoke(app, ["prepare", str(shards), "--out", str(tmp_path / "other")])
    message = "give one of its files, or use --engine ray, which accepts folders of shards"
    assert message in refused.exception.on_command_line


def times_of(lists: list[list[str]]) -> pl.DataFrame:
    """Return shuffled rows in which only times tell the order, and some of which cannot be used."""
    start = 1_700_000_000
    rows = [(n, item, start + 86_400 * n + at) for n, items in enumerate(lists) for at, item in enumerate(items)]
    bad = [(None, "i1", start), (1, None, start), (2, "i2", None)]
    table = pl.DataFrame(rows + bad, schema=["Session Id", "track", "timestamp"], orient="row")
    return table.sample(fraction=1, shuffle=True, seed=4)


def test_times_bad_rows_repetitions_and_splits_are_handled_as_on_one_machine(tmp_path: Path) -> None:
    rows, lines = times_of(some_lists()), list[str]()
    preparation = changed(split="time", on_bad_row="skip", duplicates="drop")
    shards = as_parquet(rows, tmp_path / "shards")
    there = prepare_on_cluster(str(shards), tmp_path / "there", preparation, report=lines.append)
    here = prepare(rows, tmp_path / "here", preparation)
    assert {**there, "source": ""} == {**here, "source": ""}
    assert there["columns"]["ordered_by"] == "time" and there["split"]["by"] == "time"
    assert sum(line.startswith("columns: list 'Session Id', item 'track'; ordered by time") for line in lines) == 1
    assert sum(line.startswith("skipped: ") for line in lines) == sum("skipped" in line for line in lines) > 0
    with pytest.raises(BadInput, match="cannot be used"):
        prepare_on_cluster(str(shards), tmp_path / "nowhere", changed(split="time"))


@pytest.mark.parametrize("whole", [True, False])
def test_json_lines_keep_the_types_of_ids_and_the_times(tmp_path: Path, whole: bool) -> None:
    lists = [[int(item[1:]) if item < "i5" else item for item in items] for items in some_lists()]
    rows: list[dict[str, Any]] = [{"items": items, "date": f"2026-01-{n // 3 + 1:02}"} for n, items in enumerate(lists)]
    if not whole:
        rows = [{"user": n, "item": i, "date": row["date"]} for n, row in enumerate(rows) for i in row["items"]]
    shards, preparation = as_lines(rows, tmp_path / "shards"), changed(split="time")
    there = prepare_on_cluster(str(shards), tmp_path / "there", preparation)
    here = prepare(as_one_file(shards), tmp_path / "here", preparation)
    assert there["fingerprint"] == here["fingerprint"] and there["split"] == here["split"]
    assert '{"id": 1' in (tmp_path / "there" / "items.jsonl").read_text()
