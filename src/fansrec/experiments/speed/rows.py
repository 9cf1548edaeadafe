"""What was measured, a row for every system: medians with their spread, ratios over common lists, same items."""

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
    """Times are of a call, which answers `batch` lists."""
    return [_sizes(arm, calls, items) | _times(arm, calls) | _beside(arm, arms, calls) for arm in arms]


def without_calls(rows: Sequence[Row]) -> list[Row]:
    """Rows for a table or a picture that does not look at single calls."""
    return [{name: value for name, value in row.items() if not name.startswith("call_")} for row in rows]


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """As JSON, a row a line, so that a later measurement changes as many lines as it has rows."""
    write_text(path, "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def _sizes(arm: Arm, calls: Sequence[Call], items: int) -> Row:
    asked = _asked(arm, calls)
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
        "length": float(np.mean([len(question.input) + question.k for question in asked])),
        "k": float(np.mean([question.k for question in asked])),
    }


def _times(arm: Arm, calls: Sequence[Call]) -> Row:
    milliseconds = np.array(arm.seconds) * 1000  # (repeats, calls)
    medians = np.median(milliseconds, axis=1)
    lists = len(_asked(arm, calls))
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


def _beside(arm: Arm, arms: Sequence[Arm], calls: Sequence[Call]) -> Row:
    """How many times as long others take over the lists that both were given: `times_X`, and over how many lists."""
    kin = [other for other in arms if _kin(other) == _kin(arm)]
    reference = next((other for other in kin if other.arm == "eager"), kin[-1])
    found = agreement(arm.given, reference.given, arm.one_by_one) if reference is not arm else Agreement()
    row: Row = {
        "same_items": found.share(found.same),
        "same_or_tied_items": found.share(found.same + found.tied),
        "same_items_of": found.compared,
    }
    bert4rec = next((other for other in arms if (other.arm, other.model) == ("autoregressive", "bert4rec")), None)
    for name, other in {
        "authors": next((other for other in kin if other.arm == "authors"), None),
        "authors_10": next((other for other in arms if _published(other)), None),
        "eager": next((other for other in kin if other.arm == "eager"), None),
        "bert4rec": bert4rec,
        "paper": _of_the_paper(arm, arms),
        "padded": next((other for other in kin if (other.arm, other.backend) == ("padded", arm.backend)), None),
    }.items():
        row |= {f"times_{name}": _times_as_long(other, arm), f"times_{name}_lists": _common(other, arm, calls)}
    return row | {"times_bert4rec_over_k": _over_k(bert4rec, arm, calls)}


def _kin(arm: Arm) -> tuple[Any, ...]:
    return arm.model, arm.variant, arm.categories, arm.items


def _published(arm: Arm) -> bool:
    """The one configuration of FANS that the authors publish has ten categories."""
    return (arm.arm, arm.model, arm.categories) == ("authors", "fans", 10)


def _of_the_paper(arm: Arm, arms: Sequence[Arm]) -> Arm | None:
    """For `--recipe best`: the paper's FANS on the same backend."""
    alike = [other for other in arms if (other.arm, other.categories) == (arm.arm, arm.categories)]
    return next((other for other in alike if other.model == "fans" and other.variant == "paper"), None)


def _times_as_long(other: Arm | None, arm: Arm) -> float | None:
    if other is None:
        return None
    common = min(other.calls, arm.calls)
    return float(other.call_seconds()[:common].sum() / arm.call_seconds()[:common].sum())


def _common(other: Arm | None, arm: Arm, calls: Sequence[Call]) -> int:
    return sum(len(call) for call in calls[: min(other.calls, arm.calls)]) if other is not None else 0


def _over_k(other: Arm | None, arm: Arm, calls: Sequence[Call]) -> float | None:
    """The same divided by the items a list wants, call by call: how much of K passes one pass saves."""
    if other is None:
        return None
    common = min(other.calls, arm.calls)
    ratios = other.call_seconds()[:common] / arm.call_seconds()[:common]
    wanted = [np.mean([question.k for question in call]) for call in calls[:common]]
    return float(np.median(ratios / wanted))


def _asked(arm: Arm, calls: Sequence[Call]) -> list[Any]:
    return [question for call in calls[: arm.calls] for question in call]
