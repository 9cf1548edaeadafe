"""All scripts of this folder one after the other, each in a process of its own.

    python -m benchmarks.reliability --all [--quick] [--json FILE]
    python -m benchmarks.reliability overload kill [--quick]

All of them take about 25 minutes on two cores, the soak ten of these; with --quick, about three.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from fansrec.experiments.speed.rows import Row, write_rows

SCRIPTS = ("overhead", "cold_start", "counters", "terminate", "kill", "reload", "overload", "bad_input", "soak")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reliability",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("scripts", nargs="*", metavar="SCRIPT", help=", ".join(SCRIPTS))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    scripts = SCRIPTS if asked.all else asked.scripts
    if not scripts or not {*scripts} <= {*SCRIPTS}:
        parser.error(f"name some of {', '.join(SCRIPTS)}, or give --all")
    rows: list[Row] = []
    broken = [name for name in scripts if not _run(name, asked.quick, rows)]
    if asked.json:
        write_rows(asked.json, rows)
    kept = f"{len(scripts) - len(broken)} of {len(scripts)} kept their promises"
    print("", "; ".join([kept, *(f"not {name}" for name in broken)]), sep="\n")
    sys.exit(1 if broken else 0)


def _run(name: str, quick: bool, rows: list[Row]) -> bool:
    """Whether it kept its promises; its rows are added."""
    print(f"\n== {name}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.json"
        command = [sys.executable, "-m", f"benchmarks.reliability.{name}", "--json", str(file)]
        code = subprocess.run([*command, *(["--quick"] if quick else [])], check=False).returncode
        if file.is_file():
            rows += json.loads(file.read_text(encoding="utf-8"))
    return code == 0


if __name__ == "__main__":
    main()
