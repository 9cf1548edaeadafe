"""A result for people: a few Markdown tables that can be read as plain text too."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fansrec.experiments.crossval.results import METRICS, gather, result
from fansrec.experiments.crossval.train_cell import WAYS
from fansrec.experiments.crossval.work import Choice
from fansrec.files import write_json, write_text

Row = Mapping[str, Any]
NOTHING = "–"
TOLD = {
    "k fixed": "ten items are asked for, items of the input excluded, every list counts (protocol standard)",
    "k known": "as many items are asked for as the list really goes on with, items of the input excluded "
    "(protocol paper: a list counts at n only if it goes on with n items)",
}


def write_result(choice: Choice, path: Path) -> dict[str, Any]:
    """The result of the finished cells as JSON, and as Markdown beside it."""
    found = {**_about(choice), **result(gather(choice.cells()))}
    write_json(path, found)
    write_text(path.with_suffix(".md"), markdown(found))
    return found


def _about(choice: Choice) -> dict[str, Any]:
    return {
        "corpus": choice.split.corpus,
        "fingerprint": choice.split.fingerprint,
        "folds": choice.split.folds,
        "fold_numbers": list(choice.folds),
        "seed": choice.split.seed,
        "part": choice.part,
        "training_seeds": list(choice.seeds),
    }


def markdown(found: Row) -> str:
    blocks = [f"# {found['corpus']}: {_done(found)}", _systems(found)]
    for way in WAYS:
        blocks += [f"## {way}", TOLD[way][0].upper() + TOLD[way][1:] + ".", _figures(found, way)]
        if found["paired"]:
            blocks += [f"{found['paired'][0]['system']} against each, list by list:", _paired(found, way)]
        blocks.append(_by_fold(found, way))
    blocks += ["## Order", ORDER, _order(found), "## Variety", VARIETY, _variety(found)]
    return "\n\n".join(block for block in blocks if block) + "\n"


ORDER = (
    "order: of all pairs of hits, the share in the real order (guessing: 0.5). exact: positions that hold the very "
    "item; adjacent: steps from one answered item to the next that the real list takes too, anywhere. Shuffled: the "
    "same items in any order; the gain is what the model's order adds, and if its interval holds 0, none was shown."
)
VARIETY = (
    "Of the first 10 items, answers cut to the real length / real continuations. popularity: the mean share of "
    "training lists that hold an item; coherence: the share of pairs of items within one category."
)


def _done(found: Row) -> str:
    if found["folds"] is None:
        return f"{found['part']} lists of its own split"
    some, every = len(found["fold_numbers"]), found["folds"]
    which = f"{every} folds" if some == every else f"{some} of {every} folds"
    return f"{which}, seed {found['seed']}, {found['part']} lists"


def _systems(found: Row) -> str:
    rows = [
        [row["system"], f"{row['cells']} of {row['of']}", _number(row["training_seconds"], 1)]
        for row in found["systems"]
    ]
    return _table(["system", "cells finished", "training, s a cell"], rows)


def _figures(found: Row, way: str) -> str:
    by = {(row["system"], row["metric"]): row for row in found["figures"] if row["way"] == way}
    rows = []
    for system in dict.fromkeys(system for system, _ in by):
        own = [by[system, metric] for metric in METRICS]
        lists = f"{own[0]['lists']:,} / {own[-1]['lists']:,}"
        rows.append([system, *(f"{_number(row['mean'])} {_ends(row['interval'])}" for row in own), lists])
    return _table(["system", *METRICS, "lists at 5 / 10"], rows)


def _paired(found: Row, way: str) -> str:
    by = {(row["rival"], row["metric"]): row for row in found["paired"] if row["way"] == way}
    rivals = dict.fromkeys(rival for rival, _ in by)
    rows = [[rival, *(_difference(by[rival, metric]) for metric in METRICS)] for rival in rivals]
    return _table(["against", *METRICS], rows)


def _difference(row: Row) -> str:
    if row["difference"] is None:
        return NOTHING
    percent = "" if row["percent"] is None else f", {row['percent']:+.1f}% {_ends(row['percent_interval'], '+.1f')}"
    return f"{row['difference']:+.4f} {_ends(row['interval'], '+.4f')}{percent}"


def _by_fold(found: Row, way: str) -> str:
    own = [row for row in found["figures"] if row["way"] == way and row["metric"] == METRICS[0]]
    folds = [str(fold) for fold in found["fold_numbers"]]
    if len(folds) < 2:
        return ""
    rows = [[row["system"], *(_number(row["folds"].get(fold)) for fold in folds)] for row in own]
    return _table([f"{METRICS[0]} of fold", *folds], rows)


def _order(found: Row) -> str:
    rows = []
    for row in found["order"]:
        gains = []
        for name in ("exact", "adjacent"):
            gain = f"{_number(row[f'{name}_gain'])} {_ends(row[f'{name}_gain_ci'])}"
            gains += [_number(row[name]), _number(row[f"{name}_shuffled"]), gain]
        rows.append([row["system"], row["way"], f"{_number(row['order'])} {_ends(row['order_ci'])}", *gains])
    return _table(["system", "asked", "order", "exact", "shuffled", "gain", "adjacent", "shuffled", "gain"], rows)


def _variety(found: Row) -> str:
    names = {"coverage@10": 4, "categories@10": 2, "popularity@10": 4, "coherence@10": 4}
    rows = [
        [row["system"], row["way"]]
        + [f"{_number(row[name + '_matched'], n)} / {_number(row[name + '_real'], n)}" for name, n in names.items()]
        for row in found["variety"]
    ]
    return _table(["system", "asked", *names], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell, so that it is a table on a terminal too."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [head, *rows]
    laid = [f"| {' | '.join(cell.ljust(w) for cell, w in zip(line, widths, strict=True))} |" for line in lines]
    return "\n".join([laid[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *laid[1:]])


def _number(value: float | None, digits: int = 4) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"


def _ends(pair: Sequence[float] | None, form: str = ".4f") -> str:
    return "" if pair is None else f"[{pair[0]:{form}}, {pair[1]:{form}}]"
