"""Run the scripts of this folder one after the other, each in its own process.

    python -m benchmarks.reliability --all [--quick] [--json FILE]
    python -m benchmarks.reliability overload kill [--quick]

All of them take about 25 minutes on two cores, of which `soak` takes ten; with --quick, about three. `endurance`, which
takes an hour, runs only if it is named.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from fansrec.experiments.speed.rows import Row, write_rows

SCRIPTS = (
    "overhead",
    "cold_start",
    "counters",
    "terminate",
    "kill",
    "reload",
    "overload",
    "bad_input",
    "large_bodies",
    "soak",
)
LONG = ("endurance",)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reliability",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("scripts", nargs="*", metavar="SCRIPT", help=", ".join(SCRIPTS + LONG))
    parser.add_argument("--all", action="store_true", help=f"run all scripts but {', '.join(LONG)}")
    parser.add_argument("--quick", action="store_true", help="small models and short runs; speed is not judged")
    parser.add_argument("--json", type=Path, help="file to write the rows to")
    options = parser.parse_args()
    scripts = SCRIPTS if options.all else options.scripts
    if not scripts or not {*scripts} <= {*SCRIPTS, *LONG}:
        parser.error(f"give some of {', '.join(SCRIPTS + LONG)}, or --all")
    rows: list[Row] = []
    missed = [name for name in scripts if not _run(name, options.quick, rows)]
    if options.json:
        write_rows(options.json, rows)
    passed = f"{len(scripts) - len(missed)} of {len(scripts)} scripts reached their targets"
    print("", "; ".join([passed, *(f"not {name}" for name in missed)]), sep="\n")
    sys.exit(1 if missed else 0)


def _run(name: str, quick: bool, rows: list[Row]) -> bool:
    """Run a script, add its rows to `rows`, and return whether it reached its targets."""
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
