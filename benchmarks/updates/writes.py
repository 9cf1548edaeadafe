"""Writes to a running service: how many per second, how soon they are visible, and what they cost readers.

    python -m benchmarks.updates.writes [RUN] [--lists 100000] [--items 60000] [--rounds 5] [--seconds 10] [--json FILE]

Without RUN, the model is generated: a hybrid model with random weights. A request writes one list of 20 items, and each
is answered after its fsync. Reads continue lists of 5 items, at random moments and at the same rate with and without
writes, in turn. Load generators and the service share the processors of the machine.

A write is visible when all workers have it; `GET /v1/models` is polled for that.
"""

import argparse
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reliability.encoding import encoded
from benchmarks.reliability.load import Load
from benchmarks.reliability.load_process import start_load
from benchmarks.reliability.service import Service
from benchmarks.updates.generated import generated_corpus, write_model

from fansrec.files import write_json
from fansrec.serving.http.keys import new_key
from fansrec.vocabulary import read_vocabulary

LIST_ITEMS, GIVEN_ITEMS, K = 20, 5, 10
BODIES = 5_000  # different lists that are written, and then replaced
TARGETS = {1: 200, 16: 1_000}  # writes per second, by clients
NEIGHBORS = 200  # of each item in the linear part
PROBES, POLL_SECONDS = 20, 0.005
READ_RATIO, VISIBLE_SECONDS = 1.5, 1.0


class Measurement:
    """A running service with a write key, and the requests to send to it."""

    def __init__(self, service: Service, key: str, ids: Sequence[str], seconds: float) -> None:
        self.service, self.seconds, self._ids = service, seconds, ids
        self._headers = {"X-API-Key": key}
        self._random = np.random.default_rng(0)
        self.writes = [self._write(f"written-{number}") for number in range(BODIES)]
        self.reads = [
            encoded(body={"lists": [self._items(GIVEN_ITEMS)], "k": K}, headers=self._headers) for _ in range(500)
        ]

    def _items(self, count: int) -> list[str]:
        return [self._ids[index] for index in self._random.integers(len(self._ids), size=count)]

    def _write(self, id: str) -> bytes:
        body = {"lists": [{"id": id, "items": self._items(LIST_ITEMS)}]}
        return encoded("/v1/lists", body, headers=self._headers)

    def load(self, requests: Sequence[bytes], rate: float | None = None, connections: int = 64) -> Load:
        return Load(self.service.port, requests, self.seconds, rate, connections)

    def write_rate(self, clients: int) -> float:
        """Return how many writes per second that many clients have acknowledged, one after another each."""
        with start_load(self.load(self.writes, connections=clients)) as running:
            tally = running.wait()
        assert not tally.wrong(), tally.wrong()
        return tally.goodput()

    def read_p99(self, rate: float, clients: int | None) -> float:
        """Return the p99 of reads in ms, while that many clients write at their target rate, or nobody does."""
        writing = nullcontext()
        if clients is not None:
            writing = start_load(self.load(self.writes, TARGETS[clients], clients))  # type: ignore[assignment]
        with writing, start_load(self.load(self.reads, rate)) as running:
            tally = running.wait()
        assert not tally.wrong(), tally.wrong()
        return tally.percentile(99)

    def visible(self, number: int) -> float:
        """Return the seconds from an acknowledged write until all workers have it."""
        body = {"lists": [{"id": f"probe-{number}", "items": self._items(LIST_ITEMS)}]}
        seq = self.ask("/v1/lists", body)["seq"]
        since = time.monotonic()
        while min(model["seq"] for model in self.ask("/v1/models")["models"]) < seq:
            time.sleep(POLL_SECONDS)
        return time.monotonic() - since

    def ask(self, path: str, body: Any = None) -> Any:
        status, answer = self.service.ask(path, body, **self._headers)
        assert status == 200, answer
        return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="?")
    parser.add_argument("--lists", type=int, default=100_000)
    parser.add_argument("--items", type=int, default=60_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    parser.add_argument("--read-rate", type=float, default=100.0, help="reads per second")
    parser.add_argument("--folder", type=Path, help="of the log, on the disk to measure [a temporary one]")
    parser.add_argument("--json", type=Path, help="file to write all figures to")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        folder = Path(temporary)
        run = options.run or folder / "run"
        if options.run is None:
            write_model(
                run, generated_corpus(options.lists, options.items, np.random.default_rng(0)), options.lists, NEIGHBORS
            )
        key = new_key(folder / "keys", "bench", "admin")
        settings = {
            "writes": folder / "writes",
            "keys": folder / "keys",
            "max_changes_per_s": 1e6,
            "timeout_ms": 60_000,
        }
        service = Service([run], folder, writes_bytes=8 << 30, **settings)
        try:
            service.wait_until_ready()
            found = measure(Measurement(service, key, read_vocabulary(run).ids, options.seconds), options)
        finally:
            service.end()
    if options.json:
        write_json(options.json, found)


def measure(measurement: Measurement, options: argparse.Namespace) -> dict[str, Any]:
    """Run all measurements, print them, and return their rows."""
    found: dict[str, Any] = {"rates": {}, "visible": {}, "reads": {}}
    for clients, target in TARGETS.items():
        rates = [measurement.write_rate(clients) for _ in range(options.rounds)]
        found["rates"][clients] = rates
        print(f"{clients} clients: {np.median(rates):,.0f} durable writes/s ({spread(rates)}), target {target:,}")
    for clients in (None, *TARGETS):
        found["visible"][clients or 0] = visible = probe(measurement, clients)
        print(f"visible, {name(clients)}: median {np.median(visible):.2f} s, max {max(visible):.2f} s, target 1 s")
    for clients in TARGETS:
        pairs = [(measurement.read_p99(options.read_rate, None), measurement.read_p99(options.read_rate, clients))
                 for _ in range(options.rounds)]  # fmt: skip
        found["reads"][clients] = pairs
        without, with_writes = (np.median(times) for times in zip(*pairs, strict=True))
        ratio = np.median([there / alone for alone, there in pairs])
        print(
            f"read p99 at {options.read_rate:g}/s: {without:.1f} ms, {name(clients)} {with_writes:.1f} ms, "
            f"ratio {ratio:.2f} ({spread([there / alone for alone, there in pairs])}), target {READ_RATIO}"
        )
    return found


def probe(measurement: Measurement, clients: int | None) -> list[float]:
    writing = nullcontext()
    if clients is not None:
        writing = start_load(measurement.load(measurement.writes, TARGETS[clients], clients))  # type: ignore[assignment]
    with writing:
        return [measurement.visible(number) for number in range(PROBES if clients is None else PROBES // 2)]


def name(clients: int | None) -> str:
    return "without writes" if clients is None else f"with {clients} clients writing {TARGETS[clients]:,}/s"


def spread(values: Sequence[float]) -> str:
    return f"{min(values):,.4g} to {max(values):,.4g}"


if __name__ == "__main__":
    main()
