"""Claims about quality, tested on the values of every test list."""

from collections.abc import Iterator, Sequence

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
        left, right = ([Subject(dataset.name, name) for name in rule[side]] for side in ("left", "right"))
        yield all_of(dataset.title, [_compare(ours, theirs, results) for ours in left for theirs in right])


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
    outcome = UNDECIDED if p >= ALPHA else HOLDS if combined.sum() > 0 else FAILS
    return outcome, f"{left.system} / {right.system}: {text} ({p_text(p)})"


def _values(subjects: Sequence[Subject], results: Results) -> Floats | None:
    """Return the values of every list, shape (subjects, metrics, lists), or None if some are missing."""
    found = [[results.values(subject, metric) for metric in METRICS] for subject in subjects]
    return None if any(values is None for row in found for values in row) else np.array(found, dtype=np.float64)


def ranks(rule: Rule, experiment: Experiment, results: Results) -> Iterator[Verdict]:
    """Test ranks by the share of 1,000 resamples in which they are as claimed: 95% holds, 5% does not hold."""
    for dataset in datasets_of(rule, results):
        values = _values([Subject(dataset.name, name) for name in experiment.extra["systems"]], results)
        yield Verdict(dataset.title, *_test_ranks(rule, experiment.extra["systems"].index(rule["system"]), values))


def _test_ranks(rule: Rule, index: int, values: Floats | None) -> tuple[str, tuple[str, ...]]:
    if values is None:
        return UNTESTED, ("some systems are missing",)
    if np.isnan(list_means(values)).any():
        return UNTESTED, ("no list counts for some metrics",)
    share = _ranks_hold(resampled_means(values), index, rule).mean()
    (others_above,) = _systems_above(list_means(values)[None], index)
    text = ", ".join(f"{metric} rank {n + 1}" for metric, n in zip(METRICS, others_above.tolist(), strict=True))
    outcome = HOLDS if share >= 1 - ALPHA else FAILS if share <= ALPHA else UNDECIDED
    return outcome, (text, f"as claimed in {share:.0%} of resamples")


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
        sides = (rule["left_categories"], rule["right_categories"])
        values = _values([Subject(dataset.name, rule["system"], number) for number in sides], results)
        outcome, text = _test_loss(rule["most"], values)
        yield Verdict(dataset.title, outcome, (text,))


def _test_loss(most: float, values: Floats | None) -> tuple[str, str]:
    if values is None:
        return UNTESTED, "some results are missing"
    (lost,), resampled = relative_loss(list_means(values)[None]), relative_loss(resampled_means(values))
    if np.isnan(lost) or np.isnan(resampled).all():
        return UNTESTED, "the reference is 0 at every metric"
    low, high = np.nanquantile(resampled, [ALPHA / 2, 1 - ALPHA / 2])
    return above(-high, -low, -most), f"loses {lost:.1%} [{low:.1%}, {high:.1%}]"


def relative_loss(means: Floats) -> Floats:
    """Return the mean relative loss, shape (resamples,), from (resamples, 2, metrics): a system and its reference.

    Metrics whose reference is 0 or NaN are left out; NaN if none remains.
    """
    ours, reference = means[:, 0], means[:, 1]
    usable = (reference > 0) & ~np.isnan(ours)
    parts = np.divide(ours, reference, out=np.zeros_like(ours), where=usable)
    count = usable.sum(1)
    return np.where(count > 0, 1 - parts.sum(1) / np.maximum(count, 1), np.nan)
