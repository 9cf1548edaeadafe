"""Rows of measurements, one per system: medians with their spread, ratios over common lists, agreement of the items."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fansrec.experiments.speed.agreement import Agreement, agreement
from fansrec.experiments.speed.measuring import Arm, Call
from fansrec.files import write_text

Row = dict[str, Any]


def rows_of(arms: Sequence[Arm], calls: Sequence[Call], items: int) -> list[Row]:
    """Return a row per arm; its times are those of a call, which answers `batch` lists."""
    return [_sizes(arm, calls, items) | _times(arm, calls) | _comparisons(arm, arms, calls) for arm in arms]


def without_calls(rows: Sequence[Row]) -> list[Row]:
    """Return the rows without their columns of single calls."""
    return [{name: value for name, value in row.items() if not name.startswith("call_")} for row in rows]


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """Write JSON with one row per line, so that a new measurement changes only the lines of its rows."""
    write_text(path, "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def _sizes(arm: Arm, calls: Sequence[Call], items: int) -> Row:
    answered = [question for call in calls[: arm.calls] for question in call]
    return {
        "arm": arm.arm,
        "model": arm.model,
        "variant": arm.variant,
        "backend": arm.backend,
        "device": arm.device,
        "threads": torch.get_num_threads(),
        "batch": len(calls[0]),
        "items": arm.items or items,
        "categories": arm.categories,
        "length": float(np.mean([len(question.input) + question.k for question in answered])),
        "k": float(np.mean([question.k for question in answered])),
    }


def _times(arm: Arm, calls: Sequence[Call]) -> Row:
    milliseconds = np.array(arm.seconds) * 1000  # (repeats, calls)
    medians = np.median(milliseconds, axis=1)
    lists = _common_lists(arm, arm, calls)
    return {
        "p50_ms": float(np.median(milliseconds)),
        "p50_low_ms": float(medians.min()),
        "p50_high_ms": float(medians.max()),
        "p99_ms": float(np.percentile(milliseconds, 99)),
        "mean_ms": float(milliseconds.mean()),
        "repeats": len(milliseconds),
        "lists_per_s": lists * len(milliseconds) / milliseconds.sum() * 1000,
        "lists": lists,
        "call_k": [float(np.mean([question.k for question in call])) for call in calls[: arm.calls]],
        "call_ms": np.median(milliseconds, axis=0).round(4).tolist(),
    }


def _comparisons(arm: Arm, arms: Sequence[Arm], calls: Sequence[Call]) -> Row:
    """Return how many times as long other arms take over common lists (`times_X`), and how many lists those are."""
    related = [other for other in arms if _weights(other) == _weights(arm)]
    reference = _first(related, arm="eager") or related[-1]
    found = agreement(arm.answers, reference.answers, arm.autoregressive) if reference is not arm else Agreement()
    row: Row = {
        "same_items": found.share(found.same),
        "same_or_tied_items": found.share(found.same + found.tied),
        "same_items_of": found.compared,
    }
    bert4rec = _first(arms, arm="autoregressive", model="bert4rec")
    for name, other in {
        "authors": _first(related, arm="authors"),
        "authors_10": _first(arms, arm="authors", model="fans", categories=10),  # as the authors publish it
        "eager": _first(related, arm="eager"),
        "bert4rec": bert4rec,
        "paper": _first(arms, arm=arm.arm, categories=arm.categories, model="fans", variant="paper"),
        "padded": _first(related, arm="padded", backend=arm.backend),
    }.items():
        row |= {f"times_{name}": _time_ratio(other, arm), f"times_{name}_lists": _common_lists(other, arm, calls)}
    return row | {"times_bert4rec_over_k": _time_ratio_over_k(bert4rec, arm, calls)}


def _weights(arm: Arm) -> tuple[Any, ...]:
    """Return what identifies the weights; arms with the same value can be compared item by item."""
    return arm.model, arm.variant, arm.categories, arm.items


def _first(arms: Sequence[Arm], **values: Any) -> Arm | None:
    """Return the first arm with these values of its fields."""
    return next((one for one in arms if all(getattr(one, name) == value for name, value in values.items())), None)


def _time_ratio(other: Arm | None, arm: Arm) -> float | None:
    if other is None:
        return None
    common = min(other.calls, arm.calls)
    return float(other.call_seconds()[:common].sum() / arm.call_seconds()[:common].sum())


def _common_lists(other: Arm | None, arm: Arm, calls: Sequence[Call]) -> int:
    return sum(len(call) for call in calls[: min(other.calls, arm.calls)]) if other is not None else 0


def _time_ratio_over_k(other: Arm | None, arm: Arm, calls: Sequence[Call]) -> float | None:
    """Return the median ratio of times divided by the number of items k, call by call: the share of k passes saved."""
    if other is None:
        return None
    common = min(other.calls, arm.calls)
    ratios = other.call_seconds()[:common] / arm.call_seconds()[:common]
    counts = [np.mean([question.k for question in call]) for call in calls[:common]]
    return float(np.median(ratios / counts))
