"""Verdicts on claims, and how several are combined.

"holds" and "does not hold" need evidence from the test lists: p < 0.05 in the paired test, or a 95% interval on one
side of the limit. Times of generated workloads are compared without a test.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fansrec.experiments.paper.catalogue import Dataset
from fansrec.experiments.paper.results import Results

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided: too few lists"
UNTESTED = "not tested: results are missing"
Rule = Mapping[str, Any]


class Verdict(NamedTuple):
    """The outcome of a claim on one data set or workload."""

    where: str  # the data set or size, and the machine
    verdict: str
    evidence: tuple[str, ...]


def all_of(where: str, parts: Sequence[tuple[str, str]]) -> Verdict:
    """Combine the parts of a claim: one failure refutes it, and one undecided part leaves it open."""
    found = [verdict for verdict, _ in parts]
    verdict = next((verdict for verdict in (FAILS, UNTESTED, UNDECIDED) if verdict in found), HOLDS)
    return Verdict(where, verdict, tuple(text for _, text in parts))


def above(low: float, high: float, limit: float) -> str:
    """Return whether a confidence interval lies above a limit."""
    return HOLDS if low >= limit else FAILS if high < limit else UNDECIDED


def datasets_of(rule: Rule, results: Results) -> Iterator[Dataset]:
    """Yield the selected data sets that the claim is about."""
    for dataset in results.selection.datasets:
        if dataset.name in rule.get("datasets", [dataset.name]):
            yield dataset
