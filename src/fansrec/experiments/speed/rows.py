"""Rows of measurements, one per system: medians with their spread, ratios over common lists, agreement of the items."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fansrec.experiments.speed.measuring import UNKNOWN, Answer, Arm, Call
from fansrec.files import write_text

TIE = 1e-5  # scores that differ by at most this are equal

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
        "run": arm.run,
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
    lists = sum(len(call) for call in calls[: arm.calls])
    return {
        "p50_ms": float(np.median(milliseconds)),
        "p50_low_ms": float(medians.min()),
        "p50_high_ms": float(medians.max()),
        "p99_ms": float(np.percentile(milliseconds, 99)),
        "mean_ms": float(milliseconds.mean()),
        "repeats": len(milliseconds),
        "lists_per_s": lists * len(milliseconds) / milliseconds.sum() * 1000,
        "lists": lists,
        "peak_mb": arm.memory.peak,
        "working_mb": arm.memory.working,
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
        row[f"times_{name}"], _, row[f"times_{name}_lists"] = _compare_times(other, arm, calls)
    return row | {"times_bert4rec_over_k": _compare_times(bert4rec, arm, calls)[1]}


def _weights(arm: Arm) -> tuple[Any, ...]:
    """Return what identifies the weights; arms with the same value can be compared item by item."""
    return arm.model, arm.variant, arm.categories, arm.items, arm.run


def _first(arms: Sequence[Arm], **values: Any) -> Arm | None:
    """Return the first arm with these values of its fields."""
    return next((one for one in arms if all(getattr(one, name) == value for name, value in values.items())), None)


def _compare_times(other: Arm | None, arm: Arm, calls: Sequence[Call]) -> tuple[float | None, float | None, int]:
    """Return the ratio of the times over common calls, the median ratio divided by k, and the number of common lists.

    The second one is the share of the k passes of autoregressive generation that is saved, call by call.
    """
    if other is None:
        return None, None, 0
    common = min(other.calls, arm.calls)
    theirs, ours = (one.call_seconds()[:common] for one in (other, arm))
    counts = [np.mean([question.k for question in call]) for call in calls[:common]]
    lists = sum(len(call) for call in calls[:common])
    return float(theirs.sum() / ours.sum()), float(np.median(theirs / ours / counts)), lists


@dataclass(frozen=True)
class Agreement:
    """Number of positions that were compared, that have the same item, and that have another item of the same score."""

    compared: int = 0
    same: int = 0
    tied: int = 0

    def share(self, count: int) -> float | None:
        return count / self.compared if self.compared else None


def agreement(answers: Sequence[Answer], reference: Sequence[Answer], autoregressive: bool) -> Agreement:
    """Compare answers to the lists that both systems answered.

    An autoregressive answer is compared up to its first difference only: what follows depends on it.
    """
    counts = [_compare(*pair, autoregressive) for pair in zip(answers, reference, strict=False)]
    return Agreement(*map(sum, zip(*counts, strict=True)))


def _compare(one: Answer, other: Answer, autoregressive: bool) -> list[int]:
    length = min(len(one.items), len(other.items))
    known = (one.items[:length] != UNKNOWN) & (other.items[:length] != UNKNOWN)
    same = one.items[:length] == other.items[:length]
    tied = np.zeros(length, dtype=bool)
    if one.scores is not None and other.scores is not None:
        tied = ~same & (np.abs(one.scores[:length] - other.scores[:length]) <= TIE)
    end = int(same.argmin()) + 1 if autoregressive and not same.all() else length
    return [int((known & which)[:end].sum()) for which in (known, same, tied)]
