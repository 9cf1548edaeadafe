"""Measure what serving takes: the size of an installation, the time from process start to ready, and idle memory.

    python -m venv /tmp/serving && /tmp/serving/bin/pip install -c constraints.txt '.[serve]'
    python benchmarks/loading.py --items 104695 --keep /tmp/large       # a model with random weights
    python benchmarks/footprint.py /tmp/large --venv /tmp/serving [--times 5] [--workers 2]

Size is that of site-packages without pip. Memory is the proportional set size of all processes of the service (a page
that n processes share counts 1/n in each), with and without the pages of the mapped weights, after the search index is
built. CPU time is that of all processes until ready. The file system's cache is warm. This script uses the standard
library only.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

PORT = 18_080
READY_S = 60.0
INDEXED_S = 60.0  # for the search index to be built
MEGABYTE = 1e6
NOT_SERVING = ("pip", "pip-", "setuptools", "_distutils_hack", "distutils-precedence")  # of a new environment


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of a trained model")
    parser.add_argument("--venv", type=Path, default=Path(sys.prefix), help="environment that has fansrec[serve]")
    parser.add_argument("--times", type=int, default=5, help="number of starts")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    (packages,) = options.venv.glob("lib/python*/site-packages")
    print(f"site-packages            {size_of(packages) / MEGABYTE:8.0f} MB")
    starts, work = [], []
    for number in range(options.times):
        with tempfile.TemporaryDirectory() as folder:
            seconds, busy, memory = start(options, Path(folder), measure_memory=number == options.times - 1)
        starts.append(seconds)
        work.append(busy)
    for title, values in {"start to ready": starts, "CPU time until ready": work}.items():
        print(f"{title:<24} {statistics.median(values):8.2f} s   ({', '.join(f'{value:.2f}' for value in values)})")
    for title, kilobytes in memory.items():
        print(f"{title:<24} {kilobytes * 1024 / MEGABYTE:8.0f} MB")


def size_of(folder: Path) -> int:
    """Return the bytes of all files of the packages of an environment, except those that every one has."""
    packages = [path for path in folder.iterdir() if not path.name.startswith(NOT_SERVING)]
    files = [file for path in packages for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]
    return sum(file.stat().st_size for file in files)


def start(options: argparse.Namespace, folder: Path, measure_memory: bool) -> tuple[float, float, dict[str, int]]:
    """Return the seconds to ready, the CPU time until then, and the memory of the idle service in kilobytes."""
    command = [options.venv / "bin" / "fans", "serve", options.run, "--port", PORT, "--workers", options.workers]
    settings = {"FANS_SEARCH_FOLDER": str(folder / "search"), "FANS_LOG_LEVEL": "warning", "FANS_NOTICE_S": "0"}
    began = time.monotonic()
    process = subprocess.Popen([*map(str, command)], env=os.environ | settings, stdout=subprocess.DEVNULL)
    try:
        while status("/health/ready") != 200:
            if process.poll() is not None or time.monotonic() - began > READY_S:
                sys.exit("the service did not start")
            time.sleep(0.005)
        seconds, busy = time.monotonic() - began, sum(map(cpu_seconds, descendants(process.pid)))
        if not measure_memory:
            return seconds, busy, {}
        while status("/v1/items?search=a") == 503 and time.monotonic() - began < INDEXED_S:
            time.sleep(0.1)
        time.sleep(1)  # for the process that built the index to end
        return seconds, busy, memory_of(process.pid)
    finally:
        process.terminate()
        process.wait()


def status(path: str) -> int:
    """Return the status of an answer, or 0 without one."""
    try:
        with urlopen(f"http://127.0.0.1:{PORT}{path}", timeout=2) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code
    except OSError:
        return 0


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> dict[str, int]:
    """Return the proportional set sizes of a process and its descendants in kilobytes, by title."""
    pids = descendants(pid)
    sizes = {one: mapped_sizes(one) for one in pids}
    of_model = {one: sum(size for path, size in found if path.endswith(".safetensors")) for one, found in sizes.items()}
    others = {one: sum(size for _, size in found) - of_model[one] for one, found in sizes.items()}
    each = {f"  process {number}": others[one] for number, one in enumerate(pids)}
    return {"idle, without weights": sum(others.values()), **each, "pages of the weights": sum(of_model.values())}


def mapped_sizes(pid: int) -> list[tuple[str, int]]:
    """Return the path and the proportional size of every mapping of a process."""
    found, path = [], ""
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        name, *values = line.split()
        if "-" in name and not name.endswith(":"):
            path = values[4] if len(values) > 4 else ""
        elif name == "Pss:":
            found.append((path, int(values[0])))
    return found


def descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(below for child in children for below in descendants(int(child)))]


if __name__ == "__main__":
    main()
