"""Worker processes: start one, watch its memory, and stop it when its time is over."""

import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.footprint import descendants
from benchmarks.peers.environments import ROOT, clean_environment, last_error
from benchmarks.peers.files import read_json, results_file, write_json

SAMPLE_S = 0.2


@dataclass(frozen=True)
class Outcome:
    """What a worker process left: the times of its finished candidates, its memory, and why it ended early, if so."""

    results: list[dict[str, Any]]
    peak_bytes: int
    failure: str | None


def run_job(python: Path, job: dict[str, Any], limit_s: float, ours: bool = False) -> Outcome:
    """Run a job (see worker.py) in its folder with this Python, for at most `limit_s` seconds."""
    folder = Path(job["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    results_file(folder).unlink(missing_ok=True)
    write_json(folder / "job.json", job)
    command = [str(python), "-m", "benchmarks.peers.worker", str(folder / "job.json")]
    variables = dict(os.environ) if ours else clean_environment()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=variables, stderr=log, start_new_session=True)
        peak, late = watch(process, limit_s)
        log.seek(0)
        failure = reason(process.returncode, late, limit_s, log.read())
    finished = results_file(folder)
    return Outcome(read_json(finished) if finished.is_file() else [], peak, failure)


def watch(process: subprocess.Popen[bytes], limit_s: float) -> tuple[int, bool]:
    """Wait for a process; return its peak memory with its children's, and whether it was stopped after `limit_s`."""
    began, peak = time.monotonic(), 0
    try:
        while process.poll() is None:
            if time.monotonic() - began > limit_s:
                return peak, True
            peak = max(peak, memory(process.pid))
            time.sleep(SAMPLE_S)
        return peak, False
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def memory(pid: int) -> int:
    """Return the proportional set size of a process and its descendants in bytes, 0 for those that have ended."""
    try:
        return sum(proportional_size(one) for one in descendants(pid))
    except OSError:
        return 0


def proportional_size(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def reason(code: int, late: bool, limit_s: float, log: str) -> str | None:
    """Return why a process ended early, None if it did not."""
    if late:
        return f"stopped after {limit_s:.0f} s"
    if code == -signal.SIGKILL:
        return "killed by the system, probably because memory was short"
    return None if code == 0 else last_error(log)
