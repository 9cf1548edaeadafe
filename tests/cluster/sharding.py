"""Writing lists as shards."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl


def as_rows(lists: Sequence[Sequence[str]]) -> pl.DataFrame:
    """Return a table with one row per item."""
    flat = [(number, item) for number, items in enumerate(lists) for item in items]
    return pl.DataFrame(flat, schema=["list_id", "item_id"], orient="row")


def as_parquet(rows: pl.DataFrame, folder: Path, shards: int = 3) -> Path:
    """Write rows as Parquet shards, which may end in the middle of a list."""
    folder.mkdir()
    size = -(-rows.height // shards)
    for shard in range(shards):
        rows[shard * size : (shard + 1) * size].write_parquet(folder / f"part-{shard}.parquet")
    return folder


def as_lines(rows: Sequence[dict[str, Any]], folder: Path, shards: int = 3) -> Path:
    folder.mkdir()
    size = -(-len(rows) // shards)
    for shard in range(shards):
        lines = [json.dumps(row) + "\n" for row in rows[shard * size : (shard + 1) * size]]
        (folder / f"part-{shard}.jsonl").write_text("".join(lines))
    return folder


def as_one_file(shards: Path) -> Path:
    """Join the shards of JSON lines to one file."""
    path = shards.with_suffix(".jsonl")
    path.write_text("".join(shard.read_text() for shard in sorted(shards.iterdir())))
    return path
