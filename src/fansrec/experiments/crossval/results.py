"""What the finished cells say together: means over all tested lists, and differences list by list."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.errors import Unfinished
from fansrec.evaluation.protocol import CUTOFFS
from fansrec.experiments.crossval.cells import Cell, Content, read_cell
from fansrec.experiments.crossval.order_skill import order_rows
from fansrec.experiments.crossval.train_cell import WAYS
from fansrec.experiments.paper.significance import LEVEL, means, resampled_means

METRICS = tuple(f"{name}@{n}" for n in CUTOFFS for name in ("NDCG", "HR"))
VARIETY = tuple(
    f"{name}@10{which}"
    for name in ("coverage", "categories", "popularity", "coherence")
    for which in ("", "_matched", "_real")
)
Floats = NDArray[np.float64]
Row = dict[str, Any]


@dataclass(frozen=True)
class Finished:
    """A system's finished cells."""

    system: str
    cells: list[Content]
    wanted: int  # how many there are to be

    @property
    def folds(self) -> list[int]:
        return sorted({content["fold"] for content in self.cells})


def gather(cells: Sequence[Cell]) -> list[Finished]:
    """The finished cells by system, in the order of the systems."""
    by_system: dict[str, list[Cell]] = {}
    for cell in cells:
        by_system.setdefault(str(cell.system), []).append(cell)
    finished = []
    for system, own in by_system.items():
        contents = [content for content in map(read_cell, own) if content is not None]
        finished.append(Finished(system, contents, len(own)))
    if not any(one.cells for one in finished):
        raise Unfinished("no cell is finished, so there is nothing to report; run it again, without --only report")
    return finished


def result(finished: Sequence[Finished]) -> Row:
    """Everything for the report, plain enough for JSON. The first system is set against each of the others."""
    table = values_table(finished)
    return {
        "systems": [_system_row(one) for one in finished],
        "figures": figure_rows(finished, table),
        "paired": paired_rows([one.system for one in finished], table),
        "order": [row for one in finished for row in order_rows(one.system, one.cells)],
        "variety": [_variety_row(one, way) for one in finished for way in WAYS],
    }


def values_table(finished: Sequence[Finished]) -> Floats:
    """(systems, ways, metrics, lists): each tested list's figures, averaged over seeds; NaN where it does not count."""
    lists = 1 + max(max(content["lists"]) for one in finished for content in one.cells)
    table = np.stack([np.stack([_values(one.cells, way, lists) for way in WAYS]) for one in finished])
    return np.asarray(table[..., ~np.isnan(table).all(axis=(0, 1, 2))])


def _values(contents: Sequence[Content], way: str, lists: int) -> Floats:
    sums, counts = np.zeros((len(METRICS), lists)), np.zeros((len(METRICS), lists))
    for content in contents:
        own = np.array([content["ways"][way]["values"][metric] for metric in METRICS], dtype=np.float64)
        sums[:, content["lists"]] += np.nan_to_num(own)
        counts[:, content["lists"]] += ~np.isnan(own)
    return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))


def figure_rows(finished: Sequence[Finished], table: Floats) -> list[Row]:
    """The mean of every figure with its interval, and its mean in each fold."""
    mean, (low, high) = means(table), _ends(resampled_means(table))
    rows = []
    for s, one in enumerate(finished):
        for w, way in enumerate(WAYS):
            folds = {fold: _fold_means(one.cells, fold, way) for fold in one.folds}
            for m, metric in enumerate(METRICS):
                at = (s, w, m)
                row = {
                    "system": one.system,
                    "way": way,
                    "metric": metric,
                    "mean": _plain(mean[at]),
                    "interval": _pair(mean[at], low[at], high[at]),
                    "lists": int((~np.isnan(table[at])).sum()),
                    "folds": {str(fold): _plain(values[m]) for fold, values in folds.items()},
                }
                rows.append(row)
    return rows


def _fold_means(contents: Sequence[Content], fold: int, way: str) -> Floats:
    own = [content for content in contents if content["fold"] == fold]
    return means(_values(own, way, 1 + max(max(content["lists"]) for content in own)))


def paired_rows(systems: Sequence[str], table: Floats) -> list[Row]:
    """How far the first system is ahead of each other one, over the lists that both were tested on."""
    if len(systems) < 2:
        return []
    ours, theirs = np.broadcast_arrays(table[:1], table[1:])
    both = ~np.isnan(ours) & ~np.isnan(theirs)
    pair = np.where(both, np.stack([ours, theirs]), np.nan)
    left, right = means(pair)
    drawn_left, drawn_right = np.moveaxis(resampled_means(pair), 1, 0)
    low, high = _ends(drawn_left - drawn_right)
    with np.errstate(divide="ignore", invalid="ignore"):
        percent = 100 * (left - right) / right
        percent_low, percent_high = _ends(100 * (drawn_left - drawn_right) / drawn_right)
    return [
        {
            "system": systems[0],
            "rival": systems[at[0] + 1],
            "way": tuple(WAYS)[at[1]],
            "metric": METRICS[at[2]],
            "difference": _plain((left - right)[at]),
            "interval": _pair((left - right)[at], low[at], high[at]),
            "percent": _plain(percent[at]),
            "percent_interval": _pair(percent[at], percent_low[at], percent_high[at]),
            "lists": int(both[at].sum()),
        }
        for at in np.ndindex(*left.shape)
    ]


def _ends(drawn: Floats) -> Floats:
    """(2, …) from (resamples, …): the ends of the interval."""
    return np.asarray(np.quantile(drawn, [LEVEL / 2, 1 - LEVEL / 2], axis=0))


def _system_row(one: Finished) -> Row:
    took = [content["seconds"]["training"] for content in one.cells if content["seconds"]["training"] is not None]
    return {
        "system": one.system,
        "cells": len(one.cells),
        "of": one.wanted,
        "training_seconds": _mean(took),
        "chosen": [
            {"fold": content["fold"], "seed": content["seed"], **content["chosen"]["config"]} for content in one.cells
        ],
    }


def _variety_row(one: Finished, way: str) -> Row:
    """Means over cells; times are of cells that shared a machine, so they are only a hint."""
    rows = [content["ways"][way]["row"] for content in one.cells]
    means_of = {name: _mean([row[name] for row in rows if row[name] is not None]) for name in (*VARIETY, "latency_ms")}
    return {"system": one.system, "way": way, **means_of}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _plain(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None


def _pair(mean: Any, low: Any, high: Any) -> list[float] | None:
    """No interval where there is no figure."""
    return [float(low), float(high)] if all(math.isfinite(value) for value in (mean, low, high)) else None
