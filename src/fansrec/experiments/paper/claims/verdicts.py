"""The paper's claims, each with a verdict and the figures that decide it.

"holds" and "does not hold" need evidence from the test lists: p < 0.05 in the paired test, or a 95% interval on one
side of the limit. Times of generated workloads are compared without a test.
"""

from collections.abc import Callable, Iterator

from fansrec.experiments.paper.catalogue import Experiment, published
from fansrec.experiments.paper.claims.quality import better, loss, ranks
from fansrec.experiments.paper.claims.speed import below, curve, faster, optimum, share
from fansrec.experiments.paper.claims.verdict import Rule, Verdict
from fansrec.experiments.paper.results import Results

TESTS: dict[str, Callable[[Rule, Experiment, Results], Iterator[Verdict]]] = {
    "better": better,
    "ranks": ranks,
    "faster": faster,
    "below": below,
    "curve": curve,
    "optimum": optimum,
    "loss": loss,
    "share": share,
}


def verdicts(results: Results) -> list[Verdict]:
    """Return the verdicts on every claim about the selected experiments."""
    selected = {experiment.name: experiment for experiment in results.selection.experiments}
    return [
        verdict
        for rule in published("claims")["claim"]
        if rule["experiment"] in selected
        for verdict in TESTS[rule["kind"]](rule, selected[rule["experiment"]], results)
    ]
