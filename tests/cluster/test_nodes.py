"""Batch continuation and preparation on a cluster that loses a machine."""

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.lists import of_cluster, pieces
from cluster.sharding import as_lines, as_one_file
from fansrec.data.prepare import Preparation, prepare

Fans = Callable[..., Any]
SHARDS = 6


@pytest.mark.long
def test_other_machines_answer_the_lists_of_a_lost_one(two_nodes: Any, fans: Fans, shards: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    where = ["--input", shards.folder, "--output", out, "--engine", "ray", "--address", two_nodes.address]
    command = fans("continue", shards.run, "-k", 5, *where, **two_nodes.environment)
    while not pieces(out):
        assert command.poll() is None, command.communicate()
        time.sleep(0.01)
    done = len(pieces(out))
    two_nodes.kill_one()
    output, errors = command.communicate(timeout=300)
    assert (command.returncode, output) == (0, ""), errors
    assert errors == f"{out}: 12,504 lists\n"
    assert of_cluster(out) == shards.answers
    assert done < len(pieces(out))


@pytest.mark.long
def test_corpus_is_the_same_if_a_machine_is_lost(two_nodes: Any, fans: Fans, tmp_path: Path) -> None:
    draw = random.Random(5)
    lists = [{"items": [f"i{draw.randrange(90)}" for _ in range(12)]} for _ in range(SHARDS * 100)]
    shards, items = as_lines(lists, tmp_path / "shards", SHARDS), tmp_path / "items.csv"
    items.write_text("item,category\n" + "".join(f"i{n},c{n % 3}\n" for n in range(60)))  # learning takes longer
    where = ["--out", tmp_path / "out", "--items", items, "--engine", "ray", "--address", two_nodes.address]
    where += ["--ray", "always"]
    command = fans("prepare", shards, "--min-length", 5, *where, **two_nodes.environment)
    while not (done := len(list((tmp_path / ".out.preparing").glob("piece-*.json")))):
        assert command.poll() is None, command.communicate()
        time.sleep(0.01)
    two_nodes.kill_one()
    _, errors = command.communicate(timeout=300)
    assert command.returncode == 0, errors
    assert done < SHARDS
    here = prepare(as_one_file(shards), tmp_path / "here", Preparation(min_length=5), items)
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["fingerprint"] == here["fingerprint"]
