"""The result of the finished cells: means over all tested lists, paired differences, and the skill of their order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fansrec.errors import Unfinished
from fansrec.evaluation.bootstrap import interval_list, ratio_of_sums
from fansrec.evaluation.paired import bounds, finite, pair, paired_differences
from fansrec.evaluation.protocol import CUTOFFS
from fansrec.evaluation.significance import Floats, list_means, resampled_means
from fansrec.experiments.cells import Cell, Content, read_cell
from fansrec.experiments.crossval.cross_validation import EVALUATIONS

METRICS = tuple(f"{name}@{n}" for n in CUTOFFS for name in ("NDCG", "HR"))
VARIETY = tuple(
    f"{name}@10{suffix}"
    for name in ("coverage", "categories", "popularity", "coherence")
    for suffix in ("", "_matched", "_real")
)
Row = dict[str, Any]


@dataclass(frozen=True)
class Finished:
    """The finished cells of a system."""

    system: str
    cells: list[Content]
    total: int  # number of its cells, finished or not


def read_finished(cells: Sequence[Cell]) -> list[Finished]:
    """Return the finished cells of each system, in the order of the systems."""
    finished = []
    for system in dict.fromkeys(cell.labels["system"] for cell in cells):
        contents = [read_cell(cell) for cell in cells if cell.labels["system"] == system]
        finished.append(Finished(system, [one for one in contents if one is not None], len(contents)))
    if not any(one.cells for one in finished):
        raise Unfinished("no cell is finished, so there is nothing to report; run the command without --only report")
    return finished


def result(finished: Sequence[Finished]) -> Row:
    """Return all tables of the report as plain JSON values; the first system is compared with each of the others."""
    table = values_table(finished)
    return {
        "systems": [_system_row(one) for one in finished],
        "figures": figure_rows(finished, table),
        "paired": paired_rows([one.system for one in finished], table),
        "order": [_order_row(one, name) for one in finished if one.cells for name in EVALUATIONS],
        "variety": [_variety_row(one, name) for one in finished for name in EVALUATIONS],
    }


def values_table(finished: Sequence[Finished]) -> Floats:
    """Return the values of every tested list averaged over seeds, shape (systems, evaluations, metrics, lists).

    NaN marks lists that do not count.
    """
    lists = 1 + max(max(content["lists"]) for one in finished for content in one.cells)
    table = np.stack([np.stack([_values(one.cells, name, lists) for name in EVALUATIONS]) for one in finished])
    return np.asarray(table[..., ~np.isnan(table).all(axis=(0, 1, 2))])


def _values(contents: Sequence[Content], evaluation: str, lists: int) -> Floats:
    """Return the mean over seeds, shape (metrics, lists)."""
    sums, counts = np.zeros((len(METRICS), lists)), np.zeros((len(METRICS), lists))
    for content in contents:
        own = np.array([content["evaluations"][evaluation]["values"][metric] for metric in METRICS], dtype=np.float64)
        sums[:, content["lists"]] += np.nan_to_num(own)
        counts[:, content["lists"]] += ~np.isnan(own)
    return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))


def figure_rows(finished: Sequence[Finished], table: Floats) -> list[Row]:
    """Return the mean of every metric with its interval, and its mean in each fold."""
    mean, (low, high) = list_means(table), bounds(resampled_means(table))
    folds = [[_fold_means(one.cells, name) for name in EVALUATIONS] for one in finished]
    return [
        {
            "system": finished[at[0]].system,
            "way": tuple(EVALUATIONS)[at[1]],
            "metric": METRICS[at[2]],
            "mean": finite(mean[at]),
            "interval": pair(mean[at], low[at], high[at]),
            "lists": int((~np.isnan(table[at])).sum()),
            "folds": {fold: finite(values[at[2]]) for fold, values in folds[at[0]][at[1]].items()},
        }
        for at in np.ndindex(*mean.shape)
    ]


def _fold_means(contents: Sequence[Content], evaluation: str) -> dict[str, Floats]:
    """Return the means of all metrics by fold, shape (metrics,)."""
    means = {}
    for fold in sorted({content["fold"] for content in contents}):
        own = [content for content in contents if content["fold"] == fold]
        means[str(fold)] = list_means(_values(own, evaluation, 1 + max(max(content["lists"]) for content in own)))
    return means


def paired_rows(systems: Sequence[str], table: Floats) -> list[Row]:
    """Return the differences between the first system and each other one, over the lists that both were tested on."""
    if len(systems) < 2:
        return []
    ours, theirs = np.broadcast_arrays(table[:1], table[1:])
    lists = table.shape[-1]
    found = paired_differences(ours.reshape(-1, lists), theirs.reshape(-1, lists))
    return [
        {
            "system": systems[0],
            "rival": systems[at[0] + 1],
            "way": tuple(EVALUATIONS)[at[1]],
            "metric": METRICS[at[2]],
            **difference.to_json(),
        }
        for at, difference in zip(np.ndindex(*theirs.shape[:-1]), found, strict=True)
    ]


def _system_row(one: Finished) -> Row:
    seconds = [content["seconds"]["training"] for content in one.cells if content["seconds"]["training"] is not None]
    return {
        "system": one.system,
        "cells": len(one.cells),
        "of": one.total,
        "training_seconds": _mean(seconds),
        "chosen": [
            {"fold": content["fold"], "seed": content["seed"], **content["trained"]["config"]} for content in one.cells
        ],
    }


def _order_row(one: Finished, evaluation: str) -> Row:
    """Return how well answers are ordered; `exact_gain` is how much the order adds to the same answers shuffled."""
    _, index = np.unique(np.concatenate([content["lists"] for content in one.cells]), return_inverse=True)
    orders = [content["evaluations"][evaluation]["order"] for content in one.cells]
    # Counts by name, shape (lists,), summed over the seeds of each list.
    counts = {name: np.bincount(index, np.concatenate([order[name] for order in orders])) for name in orders[0]}
    row: Row = {
        "system": one.system,
        "way": evaluation,
        "order": ratio_of_sums(counts["in_order"], counts["pairs"]),
        "order_ci": interval_list(counts["in_order"], counts["pairs"]),
        "order_pairs": int(counts["pairs"].sum()),
    }
    for name, total in (("exact", counts["positions"]), ("adjacent", counts["steps"])):
        gain = counts[name] - counts[f"{name}_shuffled"]
        row[name] = ratio_of_sums(counts[name], total)
        row[f"{name}_shuffled"] = ratio_of_sums(counts[f"{name}_shuffled"], total)
        row[f"{name}_gain"] = ratio_of_sums(gain, total)
        row[f"{name}_gain_ci"] = interval_list(gain, total)
    return row


def _variety_row(one: Finished, evaluation: str) -> Row:
    """Return means over cells; cells run at the same time on one machine, so their latencies are only approximate."""
    rows = [content["evaluations"][evaluation]["row"] for content in one.cells]
    means = {name: _mean([row[name] for row in rows if row[name] is not None]) for name in (*VARIETY, "latency_ms")}
    return {"system": one.system, "way": evaluation, **means}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
