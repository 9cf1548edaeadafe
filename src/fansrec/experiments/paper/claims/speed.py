"""Claims about speed, tested on the times of single lists, or on mean times where the workload is generated."""

from collections.abc import Iterator, Mapping
from typing import Any

from fansrec.experiments.paper.catalogue import DEFAULT_CATEGORIES, Experiment
from fansrec.experiments.paper.claims.verdict import FAILS, HOLDS, UNTESTED, Rule, Verdict, above, all_of, datasets_of
from fansrec.experiments.paper.results import Latencies, Latency, Results, ratio, times_by_categories
from fansrec.experiments.paper.timings import RANDOM, TRAINED

MARGIN = 0.05  # relative change that counts as a fall or a rise of a curve
MIN_POINTS = 3
RANDOM_WEIGHTS = f"weights {RANDOM}"  # always the case with generated workloads


def faster(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """Test whether the right systems take `times` times as long as the left one."""
    if "size" in rule:
        for where, row in _generated_rows(rule, experiment, results):
            text = f"{row['mean_ms']:.2f} ms, {row['speedup']:.1f}x over {row['speedup_lists']} lists; {RANDOM_WEIGHTS}"
            yield Verdict(where, HOLDS if row["speedup"] >= rule["times"] else FAILS, (text,))
        return
    for where, timed in _timed(rule, experiment, results):
        yield all_of(where, [_ratio(rule, left, right, timed) for left in rule["left"] for right in rule["right"]])


def _ratio(rule: Rule, left: str, right: str, timed: Latencies) -> tuple[str, str]:
    ours, theirs = timed.of(left, rule.get("left_categories", DEFAULT_CATEGORIES)), timed.of(right)
    if ours is None or theirs is None:
        return UNTESTED, f"{left} or {right} was not timed"
    value, low, high = ratio(theirs, ours)
    text = f"{right} {theirs.mean:.2f} ms / {left} {ours.mean:.2f} ms: {value:.2f}x [{low:.2f}, {high:.2f}]"
    return above(low, high, rule["times"]), text + _weights_note({left: ours, right: theirs})


def _weights_note(rows: Mapping[str, Latency]) -> str:
    """Return a note that names the systems whose weights are random, or an empty string."""
    random = [name for name, row in rows.items() if row.weights != TRAINED]
    names = "" if len(random) == len(rows) else f" ({', '.join(random)})"
    return f"; {RANDOM_WEIGHTS}{names}" if random else ""


def below(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """Test whether the systems answer within `ms` milliseconds."""
    if "size" in rule:
        for where, row in _generated_rows(rule, experiment, results):
            text = f"{row['mean_ms']:.2f} ms over {row['lists']} lists; {RANDOM_WEIGHTS}"
            yield Verdict(where, HOLDS if row["mean_ms"] < rule["ms"] else FAILS, (text,))
        return
    for where, timed in _timed(rule, experiment, results):
        for name in rule["systems"]:
            found = timed.of(name)
            if found is not None:
                low, high = found.interval
                text = f"{name} {found.mean:.2f} ms [{low:.2f}, {high:.2f}]{_weights_note({name: found})}"
                yield Verdict(where, above(-high, -low, -rule["ms"]), (text,))


def curve(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """Test whether latency falls and then rises with N, on the data sets and at the generated sizes."""
    for where, timed in _timed(rule, experiment, results):
        rows = {number: row for number in experiment.categories if (row := timed.of(rule["system"], number))}
        line = {number: row.mean for number, row in rows.items()}
        note = _weights_note({f"N = {number}": row for number, row in rows.items()})
        yield _falls_and_rises(where, line, note)
    for found in results.generated(experiment):
        where = f"generated {found['key']['workload']}, M = {found['key']['items']:,}, {found['machine']}"
        yield _falls_and_rises(where, times_by_categories(found), f"; {RANDOM_WEIGHTS}")


def _falls_and_rises(where: str, line: Mapping[int, float], note: str) -> Verdict:
    text = ", ".join(f"N = {number}: {time:.2f} ms" for number, time in line.items()) or "nothing was timed"
    times = list(line.values())
    if len(times) < MIN_POINTS:
        return Verdict(where, UNTESTED, (text + note,))
    holds = min(times[0], times[-1]) > (1 + MARGIN) * min(times)
    return Verdict(where, HOLDS if holds else FAILS, (text + note,))


def optimum(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """Test whether the fastest N rises with the number of items M, on each machine."""
    by_machine: dict[str, list[tuple[int, int]]] = {}
    for found in results.generated(experiment):
        line = times_by_categories(found)
        by_machine.setdefault(found["machine"], []).append((found["key"]["items"], min(line, key=line.__getitem__)))
    for machine, points in by_machine.items():
        points.sort()
        text = ", ".join(f"M = {items:,}: N = {number}" for items, number in points) + f"; {RANDOM_WEIGHTS}"
        best = [number for _, number in points]
        rises = best == sorted(best) and best[0] < best[-1]
        yield Verdict(f"generated sizes, {machine}", HOLDS if rises else FAILS, (text,))


def share(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """Test the vanilla classifier's share of the time in the deepest model."""
    for found in results.shares(experiment):
        vanilla = [row for row in found["rows"] if row["classifier"] == "vanilla"]
        deepest = max(vanilla, key=lambda row: row["layers"])
        part = deepest["classifier_ms"] / (deepest["classifier_ms"] + deepest["encoder_ms"])
        text = f"{part:.0%} with {deepest['layers']} layers, M = {found['key']['items']:,}; {RANDOM_WEIGHTS}"
        yield Verdict(found["machine"], HOLDS if part >= rule["least"] else FAILS, (text,))


def _timed(rule: Rule, experiment: Experiment, results: Results) -> Iterator[tuple[str, Latencies]]:
    for dataset in datasets_of(rule, results):
        for timed in results.latencies(experiment, dataset):
            yield f"{dataset.title}, {timed.machine}", timed


def _generated_rows(rule: Rule, experiment: Experiment, results: Results) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the row of the claim's size and number of categories on every machine."""
    for found in results.generated(experiment):
        for row in found["rows"]:
            is_meant = row["model"] == "fans" and row["categories"] == rule["left_categories"]
            if is_meant and found["key"]["workload"] == rule["size"]:
                yield f"M = {row['items']:,}, {found['machine']}", row
