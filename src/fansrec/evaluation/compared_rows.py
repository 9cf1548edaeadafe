"""The rows of several runs in order of quality, each with its place and its differences from the best run."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fansrec.evaluation.metrics import Floats
from fansrec.evaluation.paired import Ranking, paired_differences, rank, verdict
from fansrec.evaluation.protocol import Protocol, cutoff

Row = dict[str, Any]
Metrics = Mapping[str, Floats]  # (lists that count,) by metric
Results = dict[Protocol, dict[str, tuple[Row, Metrics]]]  # by the name of the run

NOT_COMPARED: Row = {
    "compared": 0,
    "place": None,
    "best": None,
    "significantly_worse": None,
    "verdict": None,
    "differences": {},
    "breakdown": [],
    "examples": [],
}


def compared_rows(results: Results, by: str) -> Iterator[Row]:
    """Yield the rows: in each protocol the best run by the metric `by` first, each followed by its short inputs."""
    for protocol, own in results.items():
        if protocol.given is not None:
            continue
        ranking = rank({name: metrics[by] for name, (_, metrics) in own.items()})
        differences = _differences({name: own[name][1] for name in ranking.order})
        short = [runs for one, runs in results.items() if one.given is not None and one.name == protocol.name]
        for name in ranking.order:
            yield own[name][0] | {"by": by, **_place(ranking, name, by), "differences": differences.get(name, {})}
            yield from (runs[name][0] | {"by": by, **NOT_COMPARED} for runs in short)


def _place(ranking: Ranking, name: str, by: str) -> Row:
    return {
        "compared": len(ranking.behind),  # other runs
        "place": ranking.order.index(name) + 1,
        "best": ranking.best,
        "significantly_worse": name not in ranking.as_good,
        "verdict": verdict(ranking, by),
    }


def _differences(metrics: Mapping[str, Mapping[str, Floats]]) -> dict[str, Row]:
    """Return by how much each run differs from the first one, by metric; the metrics at n are resampled together."""
    best, *others = metrics
    found: dict[str, Row] = {name: {} for name in others}
    for n in dict.fromkeys(map(cutoff, metrics[best])):
        pairs = [(name, metric) for name in others for metric in metrics[best] if cutoff(metric) == n]
        if pairs:
            left, right = (np.stack([metrics[run or name][metric] for name, metric in pairs]) for run in ("", best))
            for (name, metric), difference in zip(pairs, paired_differences(left, right), strict=True):
                found[name][metric] = difference.to_json()
    return found
