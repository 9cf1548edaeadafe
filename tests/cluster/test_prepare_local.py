"""`fans prepare --engine ray` prepares shards that fit the machine in the process itself."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import ray
from typer.testing import CliRunner

from cluster.sharding import as_lines, as_one_file, as_parquet, as_rows
from fansrec.cli.main import app
from fansrec.cluster import memory
from fansrec.cluster.preparing import local
from fansrec.cluster.preparing.local import fits_here, prepare_locally
from fansrec.data.prepare import Preparation, prepare
from fansrec.errors import BadInput, BadSetting

SMALL = Preparation(min_item_count=1, min_length=2, categories=2)
LISTS = [[f"i{(first * step) % 23}" for step in range(1, 9)] for first in range(1, 60)]


@pytest.fixture
def no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "init", lambda *_, **__: pytest.fail("Ray was started"))


def test_parquet_shards_give_the_corpus_of_one_file(no_ray: None, tmp_path: Path) -> None:
    rows = as_rows(LISTS)
    there = prepare_locally(str(as_parquet(rows, tmp_path / "shards")), tmp_path / "there", SMALL)
    here = prepare(rows, tmp_path / "here", SMALL)
    assert there == {**here, "source": "shards"}


def test_joined_lines_give_the_corpus_of_one_file(no_ray: None, tmp_path: Path) -> None:
    shards = as_lines([{"items": row} for row in LISTS], tmp_path / "shards")
    here = prepare(as_one_file(shards), tmp_path / "here", SMALL)
    first, second = sorted(shards.iterdir())[:2]
    first.write_bytes(local.BOM + first.read_bytes().rstrip(b"\n"))
    (shards / f"{second.name}.gz").write_bytes(gzip.compress(second.read_bytes()))
    second.unlink()
    (shards / "part-9.jsonl").write_text("\n")
    there = prepare_locally(f"{shards}/part*", tmp_path / "there", SMALL)
    assert there["fingerprint"] == here["fingerprint"]


def test_bad_line_is_reported_with_the_source(no_ray: None, tmp_path: Path) -> None:
    shards = as_lines([{"items": row} for row in LISTS], tmp_path / "shards")
    (shards / "part-2.jsonl").write_text('{"items": \n')
    with pytest.raises(BadInput, match=r"shards, read as one file.*line 43"):
        prepare_locally(str(shards), tmp_path / "there", SMALL)


@pytest.mark.parametrize(("available", "fits"), [(100, False), (10**12, True)])
def test_data_fit_if_they_need_half_of_the_available_memory(
    available: int, fits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "available_memory", lambda: available)
    shards, said = as_parquet(as_rows(LISTS), tmp_path / "shards"), []
    assert fits_here(str(shards), said.append) is fits
    assert said[0].startswith("engine: this process" if fits else "engine: Ray")


def test_files_of_other_formats_are_left_to_ray(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("list_id,item_id\n1,a\n")
    assert not fits_here(f"{tmp_path}/*.csv")


@pytest.mark.parametrize(("limit", "expected"), [("max", 2048 * 1024), ("1000000", 400_000), ("100", 0)])
def test_memory_of_a_container_is_limited(
    limit: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 4096 kB\nMemAvailable: 2048 kB\n")
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    (tmp_path / "memory.current").write_text("600000\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    assert memory.available_memory() == expected


def test_command_says_where_it_runs(no_ray: None, tmp_path: Path) -> None:
    shards = as_parquet(as_rows(LISTS), tmp_path / "shards")
    options = ["--min-item-count", "1", "--min-length", "2", "--categories", "2", "--engine", "ray"]
    done = CliRunner().invoke(app, ["prepare", str(shards), "--out", str(tmp_path / "out"), *options])
    assert done.exit_code == 0 and "engine: this process, which takes less time than Ray" in done.output


def test_command_uses_ray_if_it_has_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    summary = prepare(LISTS, tmp_path / "other", SMALL)

    def on_cluster(*arguments: Any) -> Any:
        asked.append(arguments)
        return summary

    monkeypatch.setattr("fansrec.cluster.preparing.run.prepare_on_cluster", on_cluster)
    run: Callable[..., Any] = CliRunner().invoke
    shards, out = str(as_parquet(as_rows(LISTS), tmp_path / "shards")), str(tmp_path / "out")
    assert run(app, ["prepare", shards, "--out", out, "--engine", "ray", "--ray", "always"]).exit_code == 0
    monkeypatch.setattr(local, "available_memory", lambda: 100)
    assert run(app, ["prepare", shards, "--out", out, "--engine", "ray"]).exit_code == 0
    assert len(asked) == 2


def test_ray_option_needs_the_engine(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["prepare", "lists.jsonl", "--out", str(tmp_path / "out"), "--ray", "always"])
    assert isinstance(done.exception, BadSetting) and "ray needs engine ray" in str(done.exception)
