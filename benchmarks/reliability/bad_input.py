"""A hundred thousand bad requests: none may be answered with 5xx, and nobody may die of one.

    python -m benchmarks.reliability.bad_input [--count 100000] [--seed 0]

Four kinds: bodies with changed bytes and values, bodies that hypothesis makes, broken HTTP over sockets of our own, and
whatever schemathesis finds in /openapi.json. Many of them turn out to be right after all; those must be answered.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from benchmarks.reliability.attacks import attacks, fuzzed
from benchmarks.reliability.bad_bodies import by_hypothesis, mutated
from benchmarks.reliability.encoding import encoded
from benchmarks.reliability.load import Load, run_here
from benchmarks.reliability.models import QUICK, make_model, make_requests
from benchmarks.reliability.promises import Promises, options, run
from benchmarks.reliability.raw_http import run_attacks
from benchmarks.reliability.rules import ObeysRules
from benchmarks.reliability.service import Service, service

SHARES = {"changed bodies": 0.62, "made by hypothesis": 0.15, "fuzzed heads": 0.18}
EXAMPLES = 300  # of schemathesis, for each operation
LATE = "504"  # the right answer to a deadline of a millisecond, which schemathesis likes to set
CONFIG = f'[checks]\nnot_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "{LATE}"]\n'
SHORT = {"header_timeout_s": 1, "body_timeout_s": 1, "notice_s": 0}  # seconds, so that slow clients end soon
AT_ONCE = 5000  # requests held in memory


def measure(promises: Promises, asked: argparse.Namespace) -> None:
    count = asked.count or (3600 if asked.quick else 100_000)
    good = [asked.body for asked in make_requests(QUICK, 64, 3)]
    with tempfile.TemporaryDirectory() as folder:
        artifact = make_model(Path(folder) / "fans", QUICK)
        with service([artifact], **SHORT) as running:
            running.wait_until_searchable()
            before, first = running.processes.look(), answer(running, good[0])
            shares = {kind: int(count * share) for kind, share in SHARES.items()}
            sent = bodies(promises, running, "changed bodies", shares, lambda n, at: mutated(good, n, asked.seed + at))
            sent += bodies(promises, running, "made by hypothesis", shares,
                           lambda n, at: by_hypothesis(QUICK.items, n, asked.seed + at))  # fmt: skip
            sent += broken_http(promises, running, shares["fuzzed heads"], 2 if asked.quick else 40, asked.seed)
            sent += by_schema(promises, running, 6 if asked.quick else EXAMPLES)
            promises.hold("requests in all", f">= {count:,}", sent, sent >= count)
            gone = before.keys() ^ running.processes.look().keys()
            promises.hold("processes that died or were replaced", "0", len(gone), not gone)
            deaths = int(running.metric("fans_worker_deaths_total"))
            promises.hold("workers lost, as the service counts them", "0", deaths, deaths == 0)
            same = answer(running, good[0]) == first
            promises.hold("a good request is answered as before", "yes", "yes" if same else "no", same)


def answer(running: Service, body: bytes) -> tuple[int, object]:
    status, content = running.ask("/v1/continue", body)
    return status, content["answers"] if status == 200 else content


def bodies(
    promises: Promises,
    running: Service,
    kind: str,
    shares: dict[str, int],
    make: Callable[[int, int], list[bytes]],
) -> int:
    """Bodies in whole requests, sent as fast as they are answered."""
    statuses: Counter[str] = Counter()
    examples: list[str] = []
    for start in range(0, shares[kind], AT_ONCE):
        made = make(min(AT_ONCE, shares[kind] - start), start)
        requests = [encoded(body=body) for body in made]
        tally = run_here(Load(running.port, requests, 3600, most=len(requests), timeout=20), ObeysRules(made))
        statuses.update({str(status): many for status, many in tally.by_status.items()})
        statuses.update(tally.failed)
        examples += tally.notes
    wrong = {status: many for status, many in statuses.items() if not status.isdigit() or int(status) >= 500}
    promises.hold(f"5xx, no answer or a wrong one, {kind}, of {statuses.total():,}", "0", wrong or 0, not wrong,
                  kind=kind, statuses=dict(statuses), examples=examples[:20])  # fmt: skip
    promises.tell(f"answers, {kind}", told(statuses))
    return statuses.total()


def broken_http(promises: Promises, running: Service, fuzz: int, times: int, seed: int) -> int:
    outcomes = run_attacks(running.port, attacks() * times + fuzzed(fuzz, seed))
    promises.hold(f"5xx, or a good request not answered, broken HTTP, of {outcomes.requests:,}", "0",
                  dict(outcomes.wrong) or 0, not outcomes.wrong, kind="broken HTTP",
                  statuses=dict(outcomes.statuses))  # fmt: skip
    promises.tell("answers, broken HTTP", told(outcomes.statuses))
    return outcomes.requests


def by_schema(promises: Promises, running: Service, examples: int) -> int:
    """schemathesis in a process of its own; how much it sent is what the service has counted."""
    before, folder = by_status(running), running.log.parent  # where it may leave its own files
    (folder / "schemathesis.toml").write_text(CONFIG, encoding="utf-8")
    address = f"http://127.0.0.1:{running.port}/openapi.json"
    found = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", "run", address, "--checks", "not_a_server_error", "--seed=1",
         f"--max-examples={examples}", "--phases=examples,coverage,fuzzing", "--no-color", "--continue-on-failure"],
        capture_output=True, text=True, timeout=3600, check=False, cwd=folder,
    )  # fmt: skip
    statuses = by_status(running) - before
    wrong = {status: many for status, many in statuses.items() if status.startswith("5") and status != LATE}
    kept = not wrong and not found.returncode
    got = wrong or (0 if kept else "see its words")
    promises.hold(f"5xx, by schemathesis, of {statuses.total():,}", "0", got, kept,
                  kind="by schemathesis", statuses=dict(statuses))  # fmt: skip
    promises.tell("answers, by schemathesis", told(statuses))
    if found.returncode:
        print(found.stdout[-6000:] + found.stderr[-2000:], file=sys.stderr)
    return statuses.total()


def by_status(running: Service) -> Counter[str]:
    counted: Counter[str] = Counter()
    for labels, value in running.metrics()["fans_http_requests_total"].items():
        counted[dict(labels)["status"]] += int(value)
    return counted


def told(statuses: Counter[str]) -> str:
    return ", ".join(f"{status}: {many:,}" for status, many in sorted(statuses.items()))


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--count", type=int, help="of requests, at least")
    parser.add_argument("--seed", type=int, default=0)
    run("bad_input", parser, measure)


if __name__ == "__main__":
    main()
