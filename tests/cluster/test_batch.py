"""Batch continuation on a cluster gives the same lines as one machine, even if workers die."""

import gc
import json
import os
import re
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cluster.lists import RULES, of_cluster, of_one_machine, pieces, write_shard
from cluster.processes import workers_named
from fansrec.cluster.batch import continue_batch, make_batch
from fansrec.cluster.connection import cluster
from fansrec.errors import BadInput, BadSetting


def answer(run: Path, source: object, out: Path, **rules: Any) -> dict[str, Any]:
    with cluster():
        return continue_batch(make_batch(run, str(out), RULES | rules, "cpu", "auto"), str(source), 2, lambda *_: None)


def refused(run: Path, source: object, out: Path) -> str:
    """Return the error message; a reference to the error itself would keep Ray's workers, and so the cores, busy."""
    try:
        answer(run, source, out)
    except BadInput as error:
        message = str(error)
    gc.collect()
    return message


def kill_a_worker_after_the_first_piece(out: Path, done: list[int]) -> None:
    while not pieces(out):
        time.sleep(0.01)
    os.kill(workers_named("ray::MapWorker")[0], signal.SIGKILL)
    done.append(len(pieces(out)))


def test_killed_worker_loses_and_repeats_no_line(ray_local: None, shards: Any, tmp_path: Path) -> None:
    done: list[int] = []
    killer = threading.Thread(target=kill_a_worker_after_the_first_piece, args=(tmp_path / "out", done), daemon=True)
    killer.start()
    summary = answer(shards.run, shards.folder, tmp_path / "out")
    killer.join(timeout=60)
    assert len(done) == 1 and done[0] < summary["pieces"]
    assert of_cluster(tmp_path / "out") == shards.answers
    assert (summary["lists"], summary["lists_without_answer"]) == (12_504, 2)
    assert len(pieces(tmp_path / "out")) == summary["pieces"] > 3
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {path.name for path in pieces(tmp_path / "out")} | {"manifest.json", "summary.json"}


def test_invalid_line_is_reported_and_the_batch_resumed_after_correction(
    ray_local: None, songs: Path, tmp_path: Path
) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    write_shard(folder / "a.jsonl", 200, seed=3)
    write_shard(folder / "b.jsonl", 7000, seed=4)
    lines = (folder / "b.jsonl").read_text().splitlines()
    (folder / "b.jsonl").write_text("\n".join([*lines[:6500], "oh no", *lines[6500:]]))
    assert re.search(r"in/b.jsonl, line 6501: not JSON [^\n]*$", refused(songs / "run", folder, out))
    finished = {path: path.stat().st_mtime_ns for path in out.glob("*-a-*")}  # if ready before the failure
    (folder / "b.jsonl").write_text("\n".join(lines))
    summary = answer(songs / "run", folder, out)
    assert of_cluster(out) == of_one_machine(songs / "run", folder)
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    assert summary["lists"] == 7204
    assert json.loads((out / "summary.json").read_text()) == summary == answer(songs / "run", folder, out)
    with pytest.raises(BadSetting, match="contains continuations with other k; use the same"):
        answer(songs / "run", folder, out, k=6)


def test_parquet_gives_the_same_answers_as_lines(ray_local: None, songs: Path, tmp_path: Path) -> None:
    rows = {"id": ["x", "y", "z"], "items": [["i1", "i2"], [], ["nobody"]]}
    pq.write_table(pa.table(rows), tmp_path / "lists.parquet")
    with (tmp_path / "lists.jsonl").open("w") as file:
        for name, items in zip(*rows.values(), strict=True):
            file.write(json.dumps({"id": name, "items": items}) + "\n")
    answer(songs / "run", tmp_path / "*.parquet", tmp_path / "out")
    assert of_cluster(tmp_path / "out") == of_one_machine(songs / "run", tmp_path)
