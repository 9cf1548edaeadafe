"""A machine of the cluster is lost midway."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cluster.lists import of_cluster, pieces

Fans = Callable[..., Any]


def test_when_a_machine_is_lost_midway_the_others_answer_its_lists(
    two_nodes: Any, fans: Fans, shards: Any, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    where = ["--input", shards.folder, "--output", out, "--engine", "ray", "--address", two_nodes.address]
    command = fans("continue", shards.run, "-k", 5, *where)
    while not pieces(out):
        assert command.poll() is None, command.communicate()
        time.sleep(0.01)
    two_nodes.kill_one()
    said, errors = command.communicate(timeout=100)
    assert (command.returncode, said) == (0, ""), errors
    assert errors == f"{out}: 12,504 lists\n"
    assert of_cluster(out) == shards.answers
