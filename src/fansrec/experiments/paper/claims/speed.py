"""Claims about speed, tried on times of single lists, or on means where the workload is generated."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fansrec.experiments.paper.catalogue import USUAL_CATEGORIES, Dataset, Experiment
from fansrec.experiments.paper.claims.verdict import FAILS, HOLDS, UNTRIED, Rule, Verdict, all_of, datasets_of, sided
from fansrec.experiments.paper.jobs import generated_timings, shares_timing
from fansrec.experiments.paper.report.wording import told_machine
from fansrec.experiments.paper.results import Latencies, Latency, Results, ratio
from fansrec.experiments.paper.timings import RANDOM, TRAINED, read_timings

MARGIN = 0.05  # by which a curve must fall and rise to be called one
LEAST_POINTS = 3
RANDOM_WEIGHTS = f"weights {RANDOM}"  # those of generated workloads are


def faster(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """How many times as long the right ones take as the left one."""
    if "size" in rule:
        for where, row in _generated(rule, experiment, results):
            told = f"{row['mean_ms']:.2f} ms, {row['speedup']:.1f}x over {row['speedup_lists']} lists; {RANDOM_WEIGHTS}"
            yield Verdict(rule["text"], where, (told,), HOLDS if row["speedup"] >= rule["times"] else FAILS)
        return
    for dataset, timed in _timed(rule, experiment, results):
        tried = [_ratio(rule, left, right, timed) for left in rule["left"] for right in rule["right"]]
        where = f"{dataset.title}, {told_machine(timed.machine)}"
        evidence = tuple(told for _, told in tried)
        yield Verdict(rule["text"], where, evidence, all_of([verdict for verdict, _ in tried]))


def _ratio(rule: Rule, left: str, right: str, timed: Latencies) -> tuple[str, str]:
    ours, theirs = timed.of(left, rule.get("left_categories", USUAL_CATEGORIES)), timed.of(right)
    if ours is None or theirs is None:
        return UNTRIED, f"{left} or {right} was not timed"
    found = ratio(theirs, ours)
    told = f"{right} {theirs.mean:.2f} ms / {left} {ours.mean:.2f} ms: {found.value:.2f}x "
    told += f"[{found.low:.2f}, {found.high:.2f}]{_weights({left: ours, right: theirs})}"
    return sided(found.low, found.high, rule["times"]), told


def _weights(rows: Mapping[str, Latency]) -> str:
    """A warning, if the weights of some were drawn at random."""
    random = [name for name, row in rows.items() if row.weights != TRAINED]
    whose = "" if len(random) == len(rows) else f" ({', '.join(random)})"
    return f"; {RANDOM_WEIGHTS}{whose}" if random else ""


def below(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    if "size" in rule:
        for where, row in _generated(rule, experiment, results):
            verdict = HOLDS if row["mean_ms"] < rule["ms"] else FAILS
            told = f"{row['mean_ms']:.2f} ms over {row['lists']} lists; {RANDOM_WEIGHTS}"
            yield Verdict(rule["text"], where, (told,), verdict)
        return
    for dataset, timed in _timed(rule, experiment, results):
        for name in rule["systems"]:
            found = timed.of(name)
            if found is not None:
                low, high = found.interval
                told = f"{name} {found.mean:.2f} ms [{low:.2f}, {high:.2f}]{_weights({name: found})}"
                where = f"{dataset.title}, {told_machine(timed.machine)}"
                yield Verdict(rule["text"], where, (told,), sided(-high, -low, -rule["ms"]))


def curve(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """Over the sets at hand and over the generated sizes; two points make no curve."""
    for dataset, timed in _timed(rule, experiment, results):
        rows = {number: row for number in experiment.categories if (row := timed.of(rule["system"], number))}
        line = {number: row.mean for number, row in rows.items()}
        weights = _weights({f"N = {number}": row for number, row in rows.items()})
        yield _bent(rule, f"{dataset.title}, {told_machine(timed.machine)}", line, weights)
    for where, line in _lines(experiment, results):
        yield _bent(rule, where, line, f"; {RANDOM_WEIGHTS}")


def _bent(rule: Rule, where: str, line: Mapping[int, float], weights: str) -> Verdict:
    told = ", ".join(f"N = {number}: {time:.2f} ms" for number, time in line.items()) or "nothing was timed"
    times = list(line.values())
    if len(times) < LEAST_POINTS:
        return Verdict(rule["text"], where, (told + weights,), UNTRIED)
    bends = min(times[0], times[-1]) > (1 + MARGIN) * min(times)
    return Verdict(rule["text"], where, (told + weights,), HOLDS if bends else FAILS)


def optimum(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """Sizes in order of M, by device."""
    by_device: dict[str, list[tuple[int, int]]] = {}
    for timing in generated_timings(experiment, results.corpora):
        for found in read_timings(timing):
            line = _line(found["rows"])
            lowest = min(line, key=line.__getitem__)
            by_device.setdefault(told_machine(found["machine"]), []).append((timing.key["items"], lowest))
    for device, points in by_device.items():
        ordered = sorted(points)
        told = ", ".join(f"M = {items:,}: N = {number}" for items, number in ordered) + f"; {RANDOM_WEIGHTS}"
        best = [number for _, number in ordered]
        rises = best == sorted(best) and best[0] < best[-1]
        yield Verdict(rule["text"], f"generated sizes, {device}", (told,), HOLDS if rises else FAILS)


def share(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    timing = shares_timing(experiment, results.corpora)
    for found in read_timings(timing) if timing is not None else []:
        vanilla = [row for row in found["rows"] if row["classifier"] == "vanilla"]
        deepest = max(vanilla, key=lambda row: row["layers"])
        part = deepest["classifier_ms"] / (deepest["classifier_ms"] + deepest["encoder_ms"])
        told = (
            f"{part:.0%} with {deepest['layers']} layers, M = {timing.key['items']:,}; {RANDOM_WEIGHTS}"
            if timing
            else ""
        )
        verdict = HOLDS if part >= rule["least"] else FAILS
        yield Verdict(rule["text"], told_machine(found["machine"]), (told,), verdict)


def _timed(rule: Rule, experiment: Experiment, results: Results) -> Iterator[tuple[Dataset, Latencies]]:
    for dataset in datasets_of(rule, results):
        for timed in results.latencies(experiment, dataset):
            yield dataset, timed


def _generated(rule: Rule, experiment: Experiment, results: Results) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The row of one size and number of categories, on every machine."""
    for timing in generated_timings(experiment, results.corpora):
        if timing.key["workload"] == rule["size"]:
            for found in read_timings(timing):
                for row in found["rows"]:
                    if row["model"] == "fans" and row["categories"] == rule["left_categories"]:
                        yield f"M = {row['items']:,}, {told_machine(found['machine'])}", row


def _lines(experiment: Experiment, results: Results) -> list[tuple[str, dict[int, float]]]:
    return [
        (
            f"generated {timing.key['workload']}, M = {timing.key['items']:,}, {told_machine(found['machine'])}",
            _line(found["rows"]),
        )
        for timing in generated_timings(experiment, results.corpora)
        for found in read_timings(timing)
    ]


def _line(rows: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    times = {row["categories"]: row["mean_ms"] for row in rows if row["model"] == "fans"}
    return {number: times[number] for number in sorted(times)}
