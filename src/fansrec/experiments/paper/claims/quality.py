"""Claims about quality, tried on the values of every test list."""

from collections.abc import Iterator

import numpy as np

from fansrec.experiments.paper.catalogue import Experiment
from fansrec.experiments.paper.claims.verdict import (
    FAILS,
    HOLDS,
    UNTOLD,
    UNTRIED,
    Rule,
    Verdict,
    all_of,
    datasets_of,
    sided,
)
from fansrec.experiments.paper.report.wording import p_text
from fansrec.experiments.paper.results import METRICS, Results, Subject
from fansrec.experiments.paper.significance import LEVEL, ROUNDING, Floats, means, p_values, resampled_means, together


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
    pairs = [(results.figure(left, metric), results.figure(right, metric)) for metric in METRICS]
    told = ", ".join(
        f"{metric} {ours.mean:.4f} / {theirs.mean:.4f}"
        for metric, (ours, theirs) in zip(METRICS, pairs, strict=True)
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
        if np.isnan(means(values)).any():
            yield Verdict(rule["text"], dataset.title, ("no list counts at some metrics",), UNTRIED)
            continue
        held = _ranks_hold(resampled_means(values), place, rule).mean()
        (better_ones,) = _not_worse(means(values)[None], place)
        told = ", ".join(f"{metric} rank {n + 1}" for metric, n in zip(METRICS, better_ones.tolist(), strict=True))
        verdict = HOLDS if held >= 1 - LEVEL else FAILS if held <= LEVEL else UNTOLD
        yield Verdict(rule["text"], dataset.title, (told, f"as claimed in {held:.0%} of drawings"), verdict)


def _not_worse(drawn: Floats, place: int) -> Floats:
    """(drawings, metrics): how many other systems are better or as good, so that a tie counts as the worse rank."""
    return np.asarray((drawn >= drawn[:, [place]] - ROUNDING).sum(1) - 1)


def _ranks_hold(drawn: Floats, place: int, rule: Rule) -> Floats:
    above = _not_worse(drawn, place)
    first, second = (above == 0).sum(1), (above <= 1).sum(1)
    return np.asarray((first >= rule["best"]) & (second >= rule["best"] + rule["second"]))


def loss(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """How much of the reference's quality is lost, the mean over the metrics; untried where the reference has none."""
    for dataset in datasets_of(rule, results):
        sides = [
            [results.values(Subject(dataset.name, rule["system"], rule[side]), metric) for metric in METRICS]
            for side in ("left_categories", "right_categories")
        ]
        if any(values is None for side in sides for values in side):
            yield Verdict(rule["text"], dataset.title, ("some figures are missing",), UNTRIED)
            continue
        values = np.array(sides, dtype=np.float64)
        (now,), drawn = _lost(means(values)[None]), _lost(resampled_means(values))
        if np.isnan(now) or np.isnan(drawn).all():
            yield Verdict(rule["text"], dataset.title, ("the reference is 0 at every metric",), UNTRIED)
            continue
        low, high = np.nanquantile(drawn, [LEVEL / 2, 1 - LEVEL / 2])
        told = f"loses {now:.1%} [{low:.1%}, {high:.1%}]"
        yield Verdict(rule["text"], dataset.title, (told,), sided(-high, -low, -rule["most"]))


def _lost(drawn: Floats) -> Floats:
    """(drawings,) from (drawings, 2, metrics): without metrics whose reference is 0 or NaN; NaN if none is left."""
    ours, reference = drawn[:, 0], drawn[:, 1]
    usable = (reference > 0) & ~np.isnan(ours)
    parts = np.divide(ours, reference, out=np.zeros_like(ours), where=usable)
    count = usable.sum(1)
    return np.where(count > 0, 1 - parts.sum(1) / np.maximum(count, 1), np.nan)
