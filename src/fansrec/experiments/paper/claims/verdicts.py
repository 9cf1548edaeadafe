"""The paper's claims, each with a verdict and the figures that decide.

"holds" and "does not hold" are said only of what the test lists can tell: p < 0.05 in the paired test, or a 95%
interval on one side of the limit. Times of generated workloads are compared as they are.
"""

from collections.abc import Callable, Iterator

from fansrec.experiments.paper.catalogue import Experiment, published
from fansrec.experiments.paper.claims.quality import better, loss, ranks
from fansrec.experiments.paper.claims.speed import below, curve, faster, optimum, share
from fansrec.experiments.paper.claims.verdict import Rule, Verdict
from fansrec.experiments.paper.results import Results

KINDS: dict[str, Callable[[Rule, Experiment, Results], Iterator[Verdict]]] = {
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
    """Every claim that the chosen experiments can try."""
    chosen = {experiment.name: experiment for experiment in results.choice.experiments}
    return [
        verdict
        for rule in published("claims")["claim"]
        if rule["experiment"] in chosen
        for verdict in KINDS[rule["kind"]](rule, chosen[rule["experiment"]], results)
    ]
