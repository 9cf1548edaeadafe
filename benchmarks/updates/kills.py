"""Kill processes of a service while clients write and read: nothing acknowledged may be lost, nothing half be there.

    python -m benchmarks.updates.kills [--kills 100] [--seed 0] [--json FILE]

Workers, model hosts, supervisors, the front process, or all processes at once get SIGKILL at random moments. Without
a front process the service is started again, with the log as it is; sometimes it is killed again before it is ready.
Each client sends one request after another and never repeats one. In the end the log, the model of `fans compact` and
all answers are compared with what was acknowledged.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
from benchmarks.reliability.reload import point
from benchmarks.reliability.report import Report, argument_parser
from benchmarks.reliability.report import run as run_script
from benchmarks.updates import kill_checks
from benchmarks.updates.generated import generated_corpus, write_model
from benchmarks.updates.kill_clients import (
    ACKNOWLEDGED,
    IN_DOUBT,
    NOT_SENT,
    ONLY_WORKERS,
    OTHERS,
    REFUSED,
    STARTED_AGAIN,
    Client,
    Reader,
    Writer,
)
from benchmarks.updates.killed_service import WEIGHTS, WHOLE, KilledService

from fansrec.serving.http.keys import new_key
from fansrec.serving.writes.store import FILE
from fansrec.vocabulary import read_vocabulary

LISTS, ITEMS, NEIGHBORS = 300, 1_000, 50  # of the first model
READERS, REQUESTS = 3, 12
MOST_PAUSE_IF_NEXT = 0.5  # seconds between two kills
NEXT = 0.4  # share of the kills that are followed by the next one before the service has recovered
SETTLED = 1.0  # seconds
SHOWN = 5  # problems of a kind


@dataclass(frozen=True)
class Pace:
    """How many clients write, and the pauses: means of writers and readers, and the longest before a kill."""

    writers: int = 8
    write_s: float = 0.04
    read_s: float = 0.05
    kill_s: float = 3.0
    share_large: float = 0.0  # of the reads


PACE = Pace()


class Run:
    """A service with its clients. With several models it serves a link to one of them, to be moved before reloads."""

    def __init__(
        self, folder: Path, seed: int, models: int = 1, pace: Pace = PACE, weights: Mapping[str, float] = WEIGHTS
    ) -> None:
        self.folder, self.chance, self.pace, self.weights = folder, random.Random(seed), pace, weights
        self.killed: Counter[str] = Counter()  # by kind
        corpus = generated_corpus(LISTS, ITEMS, np.random.default_rng(seed))
        self.models = [folder / f"model-{number}" for number in range(models)]
        for number, model in enumerate(self.models):
            write_model(model, corpus, LISTS, NEIGHBORS - number)
        self.link = folder / "model"
        point(self.link, self.models[0])
        items = [str(id) for id in read_vocabulary(self.models[0]).ids]
        self.requests = [[self.chance.sample(items, 4) for _ in range(2)] for _ in range(REQUESTS)]
        self.target = KilledService(self.link, folder, new_key(folder / "keys", "kills", "admin"))
        self.writers = [Writer(self.target, items, f"writer-{number}", pace.write_s) for number in range(pace.writers)]
        self.readers = [
            Reader(self.target, items, f"reader-{number}", self.requests, self.writers, pace.read_s, pace.share_large)
            for number in range(READERS)
        ]
        self.target.newest = lambda: max(writer.newest for writer in self.writers)

    def draw(self) -> str:
        """Draw the kind of a kill."""
        return self.chance.choices([*self.weights], [*self.weights.values()])[0]

    def kill(self, kinds: Iterable[str]) -> dict[str, list[float]]:
        """Kill one after another; return the seconds until the service was ready or complete again, by kind."""
        back: dict[str, list[float]] = defaultdict(list)
        pause = self.pace.kill_s
        for kind, following in pairwise(chain(kinds, [""])):
            time.sleep(self.chance.uniform(0, pause))
            go_on, since = self.chance.random() < NEXT, time.monotonic()
            pause = MOST_PAUSE_IF_NEXT if go_on else self.pace.kill_s
            self.target.kill(kind, self.chance)
            self.killed[kind] += 1
            if kind in WHOLE and not (go_on and following in WHOLE):
                self.target.service.wait_until_ready()
                back[f"ready again after: {kind}"].append(round(time.monotonic() - since, 3))
            if not go_on or not following:
                self.target.wait_until_complete()
                back[f"complete again after: {kind}"].append(round(time.monotonic() - since, 3))
        return back

    def settle(self) -> str:
        """Stop writing, wait until all is visible, and stop reading; return the hash of the model at the end."""
        for writer in self.writers:
            writer.end()
        state = self.target.wait_until_visible(self.target.newest())
        time.sleep(SETTLED)  # readers see the last state too
        for reader in self.readers:
            reader.end()
        return state

    def compact(self) -> Path:
        """Return the model that contains the log."""
        out, fans = self.folder / "folded", Path(sys.executable).with_name("fans")
        subprocess.run([fans, "compact", self.folder / "writes", self.models[0], "--out", out], check=True, stdout=2)
        return out


def measure(report: Report, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["TMPDIR"] = temporary  # of the service, which cannot remove its folder there if all of it is killed
        run = Run(Path(temporary), options.seed)
        kinds = [run.draw() for _ in range(options.kills or (10 if options.quick else 100))]
        report_run(report, run, *disturb(report, run, kinds))


def disturb(
    report: Report, run: Run, kinds: Iterable[str], others: Sequence[Client] = ()
) -> tuple[dict[str, list[float]], str]:
    """Kill processes while clients write and read; return the seconds of `Run.kill`, and the model's hash at the end.

    `others` are further clients, which end before the writers do.
    """
    clients: list[Client] = [*run.writers, *run.readers, *others]
    try:
        for client in clients:
            client.start()
        since = time.monotonic()
        back = run.kill(kinds)
        report.note("seconds in which processes were killed", time.monotonic() - since)
        for client in others:
            client.end()
        return back, run.settle()
    finally:
        for client in clients:
            client.over.set()
        run.target.end()


def report_run(report: Report, run: Run, back: dict[str, list[float]], state: str) -> None:
    report_kills(report, run.killed, back)
    report_writes(report, run)
    report_reads(report, run, state)


def report_kills(report: Report, killed: Counter[str], back: dict[str, list[float]]) -> None:
    for kind, count in killed.most_common():
        report.note(f"kills: {kind}", count)
    for kind, seconds in sorted(back.items()):
        report.note(
            f"longest time until {kind}", f"{max(seconds):.1f} s (median {np.median(seconds):.1f} s)", seconds=seconds
        )


def report_writes(report: Report, run: Run) -> None:
    """Compare the log and the compacted model with what was acknowledged."""
    writes = [write for writer in run.writers for write in writer.writes]
    for outcome in (ACKNOWLEDGED, IN_DOUBT, REFUSED, NOT_SENT):
        some = [write for write in writes if write.outcome == outcome]
        lists = sum(len(write.changes) for write in some)
        statuses = Counter(write.status for write in some if write.status)
        measured = f"{len(some):,} ({lists:,} lists)"
        report.note(f"writes: {outcome}", measured, requests=len(some), lists=lists, statuses=statuses)
    records = kill_checks.read_log(run.folder / "writes" / FILE)
    report.note("records in the log", len(records))
    in_log = kill_checks.check_log(records, writes)
    found, base = kill_checks.lists_of(run.compact()), kill_checks.lists_of(run.models[0])
    in_model = kill_checks.check_lists(found, base, run.writers)
    report.note("lists in the model after `fans compact`", len(found))
    for where, findings in (("the log", in_log), ("the model", in_model)):
        none(report, f"acknowledged writes lost, {where}", findings.lost)
        none(report, f"half lists, {where}", findings.half)
        none(report, f"never sent, or refused, {where}", findings.never_sent)


def report_reads(report: Report, run: Run, state: str) -> None:
    records = kill_checks.read_log(run.folder / "writes" / FILE)
    problems = [problem for reader in run.readers for problem in reader.problems]
    problems += kill_checks.check_answers(run.models, records, run.readers, run.requests)
    last = [[*kill_checks.states_of(model, records)][-1][1] for model in run.models]
    problems += [] if state in last else [f"the service ended with the state {state} instead of {last}"]
    answers = sum(len(reader.states) for reader in run.readers)
    states = len({state for reader in run.readers for state, _ in reader.states})
    report.note("answers, and states they came from", f"{answers:,}, {states:,}", answers=answers, states=states)
    report.note("groups of lists seen as a whole", sum(reader.groups for reader in run.readers))
    none(report, "inconsistent answers", problems)
    for disturbed in (ONLY_WORKERS, OTHERS, STARTED_AGAIN):
        failed = dict(sum((reader.failed[disturbed] for reader in run.readers), Counter[int | str]()))
        what, count = f"failed reads, killed: {disturbed}", sum(failed.values())
        if disturbed == STARTED_AGAIN:
            report.note(what, f"{count:,} {failed}", statuses=failed)
        else:
            report.require(what, "0", count, not count, statuses=failed)


def none(report: Report, what: str, problems: Sequence[str]) -> None:
    """Require that there are no problems, and print the first ones."""
    report.require(what, "0", len(problems), not problems, problems=problems[:SHOWN])
    for problem in problems[:SHOWN]:
        print(f"    {problem:.500}", file=sys.stderr)


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--kills", type=int, help="number of kills [100]")
    parser.add_argument("--seed", type=int, default=0, help="of the kinds and moments of kills")
    run_script("kills", parser, measure)


if __name__ == "__main__":
    main()
