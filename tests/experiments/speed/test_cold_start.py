"""benchmarks/loading.py: from process start to the first answer."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "loading.py"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the start of a process is read from /proc")
def test_cold_start_includes_all_stages_of_every_process(songs: Path) -> None:
    command = [sys.executable, str(SCRIPT), str(songs / "run"), "--times", "2"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = {line[:22].strip(): float(line[22:].split()[0]) for line in printed.splitlines()}
    stages = found["imports"] + found["read the folder"] + found["open the engine"] + found["first answer"]
    highest = re.search(r"start to first answer .*median of 2: \S+ to (\S+)\)", printed)
    assert highest is not None and float(highest[1]) > stages  # the interpreter has to start too
    assert found["peak memory"] > 0
