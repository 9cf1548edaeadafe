"""Shards of lists for the model of songs, and the answers of one machine."""

import json
import random
from pathlib import Path
from typing import Any

from fansrec.api.continuer import load
from fansrec.cli.continue_many import continue_file

RULES: dict[str, Any] = {"k": 5, "exclude": (), "allow": None, "max_per_group": None, "min_score": None}
RULES |= {"keep_seen": False, "fill": "by-position"}


def write_shard(path: Path, lists: int, seed: int) -> None:
    draw = random.Random(seed)
    with path.open("w") as file:
        for number in range(lists):
            items = [f"i{draw.randrange(60)}" for _ in range(draw.randrange(1, 10))]
            file.write(json.dumps({"id": f"{path.stem} {number}", "items": items}) + "\n")
        file.write('["nobody"]\n\n["i1"]')  # no answer, no list, no end of line


def of_one_machine(run: Path, folder: Path) -> bytes:
    """Return the answers to all shards, concatenated."""
    continuer = load(run)
    answers = b""
    for shard in sorted(folder.glob("*.jsonl")):
        target = shard.with_suffix(".expected")
        continue_file(continuer, shard, target, RULES)
        answers += target.read_bytes()
    return answers


def of_cluster(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in pieces(folder))


def pieces(folder: Path) -> list[Path]:
    return sorted(folder.glob("0*.jsonl"))
