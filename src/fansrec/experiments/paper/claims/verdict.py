"""What a verdict is, and how verdicts are put together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fansrec.experiments.paper.catalogue import Dataset
from fansrec.experiments.paper.results import Results

HOLDS, FAILS, UNTOLD = "holds", "does not hold", "cannot be told with this many lists"
UNTRIED = "not tried: figures are missing"
Rule = Mapping[str, Any]


@dataclass(frozen=True)
class Verdict:
    claim: str
    where: str  # the dataset or size, and the machine
    evidence: tuple[str, ...]
    verdict: str


def all_of(found: Sequence[str]) -> str:
    """One failure refutes; one untold leaves it open."""
    return next((word for word in (FAILS, UNTRIED, UNTOLD) if word in found), HOLDS)


def sided(low: float, high: float, least: float) -> str:
    """Whether an interval lies above a limit."""
    return HOLDS if low >= least else FAILS if high < least else UNTOLD


def datasets_of(rule: Rule, results: Results) -> Iterator[Dataset]:
    for dataset in results.choice.datasets:
        if dataset.name in rule.get("datasets", [dataset.name]):
            yield dataset
