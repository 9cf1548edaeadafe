"""Claims about quality, tested on the values of every test list."""

from collections.abc import Iterator

import numpy as np

from fansrec.evaluation.significance import (
    ALPHA,
    ROUNDING,
    Floats,
    combine_metrics,
    list_means,
    paired_p_values,
    resampled_means,
)
from fansrec.experiments.paper.catalogue import Experiment
from fansrec.experiments.paper.claims.verdict import (
    FAILS,
    HOLDS,
    UNDECIDED,
    UNTESTED,
    Rule,
    Verdict,
    above,
    all_of,
    datasets_of,
)
from fansrec.experiments.paper.report.entries import p_text
from fansrec.experiments.paper.results import METRICS, Results, Subject


def better(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """Test whether the left systems are better than every right one; one that is significantly better refutes it."""
    for dataset in datasets_of(rule, results):
        pairs = [(left, right) for left in rule["left"] for right in rule["right"]]
        tests = [_compare(Subject(dataset.name, left), Subject(dataset.name, right), results) for left, right in pairs]
        evidence = tuple(text for _, text in tests)
        yield Verdict(rule["text"], dataset.title, evidence, all_of([verdict for verdict, _ in tests]))


def _compare(left: Subject, right: Subject, results: Results) -> tuple[str, str]:
    """Return verdict and evidence of one paired test over lists of all four metrics, averaged over seeds."""
    found = [results.differences(left, right, metric) for metric in METRICS]
    differences = [one for one in found if one is not None]
    if not differences:
        return UNTESTED, f"{left.system} or {right.system} is missing"
    combined = combine_metrics(differences)
    p = float(paired_p_values(combined[None])[0])
    pairs = [(results.figure(left, metric), results.figure(right, metric)) for metric in METRICS]
    text = ", ".join(
        f"{metric} {ours.mean:.4f} / {theirs.mean:.4f}"
        for metric, (ours, theirs) in zip(METRICS, pairs, strict=True)
        if ours is not None and theirs is not None
    )
    verdict = UNDECIDED if p >= ALPHA else HOLDS if combined.sum() > 0 else FAILS
    return verdict, f"{left.system} / {right.system}: {text} ({p_text(p)})"


def ranks(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """Test ranks by the share of 1,000 resamples in which they are as claimed: 95% holds, 5% does not hold."""
    index = rule["among"].index(rule["system"])
    for dataset in datasets_of(rule, results):
        found = [[results.values(Subject(dataset.name, name), metric) for metric in METRICS] for name in rule["among"]]
        if any(values is None for row in found for values in row):
            yield Verdict(rule["text"], dataset.title, ("some systems are missing",), UNTESTED)
            continue
        values = np.array(found, dtype=np.float64)  # (systems, metrics, lists)
        if np.isnan(list_means(values)).any():
            yield Verdict(rule["text"], dataset.title, ("no list counts for some metrics",), UNTESTED)
            continue
        share = _ranks_hold(resampled_means(values), index, rule).mean()
        (others_above,) = _systems_above(list_means(values)[None], index)
        text = ", ".join(f"{metric} rank {n + 1}" for metric, n in zip(METRICS, others_above.tolist(), strict=True))
        verdict = HOLDS if share >= 1 - ALPHA else FAILS if share <= ALPHA else UNDECIDED
        yield Verdict(rule["text"], dataset.title, (text, f"as claimed in {share:.0%} of resamples"), verdict)


def _systems_above(means: Floats, index: int) -> Floats:
    """Return the number of other systems at least as good, shape (resamples, metrics): a tie is the worse rank."""
    return np.asarray((means >= means[:, [index]] - ROUNDING).sum(1) - 1)


def _ranks_hold(means: Floats, index: int, rule: Rule) -> Floats:
    others = _systems_above(means, index)
    first, second = (others == 0).sum(1), (others <= 1).sum(1)
    return np.asarray((first >= rule["best"]) & (second >= rule["best"] + rule["second"]))


def loss(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """Test how much of the reference's quality is lost, averaged over metrics."""
    for dataset in datasets_of(rule, results):
        sides = [
            [results.values(Subject(dataset.name, rule["system"], rule[side]), metric) for metric in METRICS]
            for side in ("left_categories", "right_categories")
        ]
        if any(values is None for side in sides for values in side):
            yield Verdict(rule["text"], dataset.title, ("some results are missing",), UNTESTED)
            continue
        values = np.array(sides, dtype=np.float64)
        (lost,), resampled = relative_loss(list_means(values)[None]), relative_loss(resampled_means(values))
        if np.isnan(lost) or np.isnan(resampled).all():
            yield Verdict(rule["text"], dataset.title, ("the reference is 0 at every metric",), UNTESTED)
            continue
        low, high = np.nanquantile(resampled, [ALPHA / 2, 1 - ALPHA / 2])
        text = f"loses {lost:.1%} [{low:.1%}, {high:.1%}]"
        yield Verdict(rule["text"], dataset.title, (text,), above(-high, -low, -rule["most"]))


def relative_loss(means: Floats) -> Floats:
    """Return the mean relative loss, shape (resamples,), from (resamples, 2, metrics): a system and its reference.

    Metrics whose reference is 0 or NaN are left out; NaN if none remains.
    """
    ours, reference = means[:, 0], means[:, 1]
    usable = (reference > 0) & ~np.isnan(ours)
    parts = np.divide(ours, reference, out=np.zeros_like(ours), where=usable)
    count = usable.sum(1)
    return np.where(count > 0, 1 - parts.sum(1) / np.maximum(count, 1), np.nan)
