"""Verdicts on claims, and how several are combined."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fansrec.experiments.paper.catalogue import Dataset
from fansrec.experiments.paper.results import Results

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided: too few lists"
UNTESTED = "not tested: results are missing"
Rule = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    """The outcome of a claim on one data set or workload."""

    claim: str
    where: str  # the data set or size, and the machine
    evidence: tuple[str, ...]
    verdict: str


def all_of(verdicts: Sequence[str]) -> str:
    """Return the verdict of a claim with several parts: one failure refutes it, one undecided part leaves it open."""
    return next((verdict for verdict in (FAILS, UNTESTED, UNDECIDED) if verdict in verdicts), HOLDS)


def above(low: float, high: float, limit: float) -> str:
    """Return whether a confidence interval lies above a limit."""
    return HOLDS if low >= limit else FAILS if high < limit else UNDECIDED


def datasets_of(rule: Rule, results: Results) -> Iterator[Dataset]:
    """Yield the selected data sets that the claim is about."""
    for dataset in results.selection.datasets:
        if dataset.name in rule.get("datasets", [dataset.name]):
            yield dataset
