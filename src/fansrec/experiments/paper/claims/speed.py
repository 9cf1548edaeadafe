"""Claims about speed, tested on the times of single lists, or on mean times where the workload is generated."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fansrec.experiments.machine import format_machine
from fansrec.experiments.paper.catalogue import DEFAULT_CATEGORIES, Experiment
from fansrec.experiments.paper.claims.verdict import FAILS, HOLDS, UNTESTED, Rule, Verdict, above, all_of, datasets_of
from fansrec.experiments.paper.jobs import generated_timings, shares_timing
from fansrec.experiments.paper.results import Latencies, Latency, Results, ratio
from fansrec.experiments.paper.timings import RANDOM, TRAINED, read_timings

MARGIN = 0.05  # relative change that counts as a fall or a rise of a curve
MIN_POINTS = 3
RANDOM_WEIGHTS = f"weights {RANDOM}"  # always the case with generated workloads


def faster(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """Test whether the right systems take `times` times as long as the left one."""
    if "size" in rule:
        for where, row in _generated_rows(rule, experiment, results):
            text = f"{row['mean_ms']:.2f} ms, {row['speedup']:.1f}x over {row['speedup_lists']} lists; {RANDOM_WEIGHTS}"
            yield Verdict(rule["text"], where, (text,), HOLDS if row["speedup"] >= rule["times"] else FAILS)
        return
    for where, timed in _timed(rule, experiment, results):
        tests = [_ratio(rule, left, right, timed) for left in rule["left"] for right in rule["right"]]
        evidence = tuple(text for _, text in tests)
        yield Verdict(rule["text"], where, evidence, all_of([verdict for verdict, _ in tests]))


def _ratio(rule: Rule, left: str, right: str, timed: Latencies) -> tuple[str, str]:
    ours, theirs = timed.of(left, rule.get("left_categories", DEFAULT_CATEGORIES)), timed.of(right)
    if ours is None or theirs is None:
        return UNTESTED, f"{left} or {right} was not timed"
    found = ratio(theirs, ours)
    text = f"{right} {theirs.mean:.2f} ms / {left} {ours.mean:.2f} ms: {found.value:.2f}x "
    text += f"[{found.low:.2f}, {found.high:.2f}]{_weights_note({left: ours, right: theirs})}"
    return above(found.low, found.high, rule["times"]), text


def _weights_note(rows: Mapping[str, Latency]) -> str:
    """Return a note that names the systems whose weights are random, or an empty string."""
    random = [name for name, row in rows.items() if row.weights != TRAINED]
    names = "" if len(random) == len(rows) else f" ({', '.join(random)})"
    return f"; {RANDOM_WEIGHTS}{names}" if random else ""


def below(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """Test whether the systems answer within `ms` milliseconds."""
    if "size" in rule:
        for where, row in _generated_rows(rule, experiment, results):
            verdict = HOLDS if row["mean_ms"] < rule["ms"] else FAILS
            text = f"{row['mean_ms']:.2f} ms over {row['lists']} lists; {RANDOM_WEIGHTS}"
            yield Verdict(rule["text"], where, (text,), verdict)
        return
    for where, timed in _timed(rule, experiment, results):
        for name in rule["systems"]:
            found = timed.of(name)
            if found is not None:
                low, high = found.interval
                text = f"{name} {found.mean:.2f} ms [{low:.2f}, {high:.2f}]{_weights_note({name: found})}"
                yield Verdict(rule["text"], where, (text,), above(-high, -low, -rule["ms"]))


def curve(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """Test whether latency falls and then rises with N, on the data sets and at the generated sizes."""
    for where, timed in _timed(rule, experiment, results):
        rows = {number: row for number in experiment.categories if (row := timed.of(rule["system"], number))}
        line = {number: row.mean for number, row in rows.items()}
        note = _weights_note({f"N = {number}": row for number, row in rows.items()})
        yield _falls_and_rises(rule, where, line, note)
    for timing in generated_timings(experiment, results.corpora):
        for found in read_timings(timing):
            size = f"generated {timing.key['workload']}, M = {timing.key['items']:,}"
            where = f"{size}, {format_machine(found['machine'])}"
            yield _falls_and_rises(rule, where, _times_by_categories(found["rows"]), f"; {RANDOM_WEIGHTS}")


def _falls_and_rises(rule: Rule, where: str, line: Mapping[int, float], note: str) -> Verdict:
    text = ", ".join(f"N = {number}: {time:.2f} ms" for number, time in line.items()) or "nothing was timed"
    times = list(line.values())
    if len(times) < MIN_POINTS:
        return Verdict(rule["text"], where, (text + note,), UNTESTED)
    holds = min(times[0], times[-1]) > (1 + MARGIN) * min(times)
    return Verdict(rule["text"], where, (text + note,), HOLDS if holds else FAILS)


def optimum(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """Test whether the fastest N rises with the number of items M, on each machine."""
    by_machine: dict[str, list[tuple[int, int]]] = {}
    for timing in generated_timings(experiment, results.corpora):
        for found in read_timings(timing):
            line = _times_by_categories(found["rows"])
            fastest = min(line, key=line.__getitem__)
            by_machine.setdefault(format_machine(found["machine"]), []).append((timing.key["items"], fastest))
    for machine, points in by_machine.items():
        points.sort()
        text = ", ".join(f"M = {items:,}: N = {number}" for items, number in points) + f"; {RANDOM_WEIGHTS}"
        best = [number for _, number in points]
        rises = best == sorted(best) and best[0] < best[-1]
        yield Verdict(rule["text"], f"generated sizes, {machine}", (text,), HOLDS if rises else FAILS)


def share(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """Test the vanilla classifier's share of the time in the deepest model."""
    timing = shares_timing(experiment, results.corpora)
    if timing is None:
        return
    for found in read_timings(timing):
        vanilla = [row for row in found["rows"] if row["classifier"] == "vanilla"]
        deepest = max(vanilla, key=lambda row: row["layers"])
        part = deepest["classifier_ms"] / (deepest["classifier_ms"] + deepest["encoder_ms"])
        text = f"{part:.0%} with {deepest['layers']} layers, M = {timing.key['items']:,}; {RANDOM_WEIGHTS}"
        verdict = HOLDS if part >= rule["least"] else FAILS
        yield Verdict(rule["text"], format_machine(found["machine"]), (text,), verdict)


def _timed(rule: Rule, experiment: Experiment, results: Results) -> Iterator[tuple[str, Latencies]]:
    for dataset in datasets_of(rule, results):
        for timed in results.latencies(experiment, dataset):
            yield f"{dataset.title}, {format_machine(timed.machine)}", timed


def _generated_rows(rule: Rule, experiment: Experiment, results: Results) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the row of the claim's size and number of categories on every machine."""
    for timing in generated_timings(experiment, results.corpora):
        if timing.key["workload"] == rule["size"]:
            for found in read_timings(timing):
                for row in found["rows"]:
                    if row["model"] == "fans" and row["categories"] == rule["left_categories"]:
                        yield f"M = {row['items']:,}, {format_machine(found['machine'])}", row


def _times_by_categories(rows: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    times = {row["categories"]: row["mean_ms"] for row in rows if row["model"] == "fans"}
    return dict(sorted(times.items()))
