"""Time and memory of `fans events report` for many events, in files as a service writes them.

    python benchmarks/events_large.py [--events 1000000] [--clients 100000] [--json FILE]

Two models; the people of one accept 12% of the shown items, those of the other 10%, fewer at later positions.
"""

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from fansrec.files import write_json
from fansrec.serving.events.segments import FOLDER
from fansrec.serving.writes.log import open_log
from fansrec.serving.writes.records import line_of

BATCH = 20  # events in a request
SHOWN = 10  # items
ACCEPTED = {"a": 0.12, "b": 0.1}


def events_of(number: int, clients: int, draw: random.Random) -> Iterator[dict[str, Any]]:
    """Yield about `number` events."""
    left = number
    while left > 0:
        client = draw.randrange(clients)
        model = "ab"[client % 2]
        about = {"model": model, "client": f"client-{client:08d}"}
        yield {"type": "shown", "count": SHOWN, **about}
        left -= 1
        for position in range(1, SHOWN + 1):
            if draw.random() < ACCEPTED[model] * 2 * (1 - position / (SHOWN + 1)):
                yield {"type": "accepted", "item": f"s{draw.randrange(100_000):06d}", "position": position, **about}
                left -= 1


def write_events(folder: Path, number: int, clients: int) -> int:
    """Write a file of events and return its size in bytes."""
    folder.mkdir()
    path = folder / "events-0000000000000001.log"
    open_log(path).close()
    records, batch = 0, []
    with path.open("ab") as file:
        for event in events_of(number, clients, random.Random(0)):
            batch.append(event)
            if len(batch) == BATCH:
                records += 1
                record = {"seq": records, "first": records, "received": 1.77e9 + records, "batch": f"{records:032x}"}
                file.write(line_of(to_json(record | {"events": batch})))
                batch = []
    return path.stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--clients", type=int, default=100_000)
    parser.add_argument("--json", type=Path, help="file to write the row to")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        size = write_events(Path(folder) / FOLDER, options.events, options.clients)
        began = time.monotonic()
        command = [str(Path(sys.executable).with_name("fans")), "events", "report", folder]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        seconds = time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    row = {"events": options.events, "clients": options.clients, "log_mib": size / 2**20, "s": seconds, "mib": peak}
    print(", ".join(f"{name} {value:,.1f}" for name, value in row.items()))
    if options.json:
        write_json(options.json, [row])


if __name__ == "__main__":
    main()
