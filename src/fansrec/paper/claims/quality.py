"""Claims about quality, tried on the values of every test list."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from fansrec.paper.catalogue import Experiment
from fansrec.paper.claims.verdict import FAILS, HOLDS, UNTOLD, UNTRIED, Rule, Verdict, all_of, datasets_of, sided
from fansrec.paper.report.wording import p_text
from fansrec.paper.results import METRICS, Results, Subject
from fansrec.paper.significance import LEVEL, p_values, resampled_means, together


def better(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """Holds if it holds against every one of the right; fails if any of them is surely better."""
    for dataset in datasets_of(rule, results):
        pairs = [(left, right) for left in rule["left"] for right in rule["right"]]
        tried = [_compared(Subject(dataset.name, left), Subject(dataset.name, right), results) for left, right in pairs]
        told = tuple(evidence for _, evidence in tried)
        yield Verdict(rule["text"], dataset.title, told, all_of([verdict for verdict, _ in tried]))


def _compared(left: Subject, right: Subject, results: Results) -> tuple[str, str]:
    """The four metrics tested together, paired over lists, each list's values averaged over seeds."""
    found = [results.differences(left, right, metric) for metric in METRICS]
    differences = [one for one in found if one is not None]
    if not differences:
        return UNTRIED, f"{left.system} or {right.system} is missing"
    joint = together(differences)
    p = float(p_values(joint[None])[0])
    means = [(results.figure(left, metric), results.figure(right, metric)) for metric in METRICS]
    told = ", ".join(
        f"{metric} {ours.mean:.4f} / {theirs.mean:.4f}"
        for metric, (ours, theirs) in zip(METRICS, means, strict=True)
        if ours is not None and theirs is not None
    )
    verdict = UNTOLD if p >= LEVEL else HOLDS if joint.sum() > 0 else FAILS
    return verdict, f"{left.system} / {right.system}: {told} ({p_text(p)})"


def ranks(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """In how many of 1,000 drawings of lists the ranks are as claimed: 95% and it holds, 5% and it does not."""
    place = rule["among"].index(rule["system"])
    for dataset in datasets_of(rule, results):
        found = [[results.values(Subject(dataset.name, name), metric) for metric in METRICS] for name in rule["among"]]
        if any(values is None for row in found for values in row):
            yield Verdict(rule["text"], dataset.title, ("some systems are missing",), UNTRIED)
            continue
        values = np.array(found, dtype=np.float64)  # systems, metrics, lists
        held = _ranks_hold(resampled_means(values), place, rule).mean()
        above = (np.nanmean(values, -1) > np.nanmean(values[place], -1)).sum(0)
        told = ", ".join(f"{metric} rank {rank + 1}" for metric, rank in zip(METRICS, above.tolist(), strict=True))
        verdict = HOLDS if held >= 1 - LEVEL else FAILS if held <= LEVEL else UNTOLD
        yield Verdict(rule["text"], dataset.title, (told, f"as claimed in {held:.0%} of drawings"), verdict)


def _ranks_hold(means: np.ndarray[Any, Any], place: int, rule: Rule) -> np.ndarray[Any, Any]:
    above = (means > means[:, [place]]).sum(1)  # drawings, metrics: how many systems are better
    first, second = (above == 0).sum(1), (above <= 1).sum(1)
    return np.asarray((first >= rule["best"]) & (second >= rule["best"] + rule["second"]))


def loss(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    for dataset in datasets_of(rule, results):
        sides = [
            [results.values(Subject(dataset.name, rule["system"], rule[side]), metric) for metric in METRICS]
            for side in ("left_categories", "right_categories")
        ]
        if any(values is None for side in sides for values in side):
            yield Verdict(rule["text"], dataset.title, ("some figures are missing",), UNTRIED)
            continue
        values = np.array(sides, dtype=np.float64)
        drawn = resampled_means(values)
        lost = 1 - (drawn[:, 0] / np.maximum(drawn[:, 1], 1e-9)).mean(1)
        means = np.nanmean(values, -1)
        low, high = np.quantile(lost, [LEVEL / 2, 1 - LEVEL / 2])
        now = 1 - (means[0] / np.maximum(means[1], 1e-9)).mean()
        told = f"loses {now:.1%} [{low:.1%}, {high:.1%}]"
        yield Verdict(rule["text"], dataset.title, (told,), sided(-high, -low, -rule["most"]))
