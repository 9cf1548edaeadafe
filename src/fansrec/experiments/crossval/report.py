"""The report of a cross-validation: Markdown tables that are aligned, so that they can be read as plain text."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fansrec.experiments.crossval.cross_validation import EVALUATIONS, CrossValidation
from fansrec.experiments.crossval.results import METRICS, read_finished, result
from fansrec.files import write_json, write_text

Row = Mapping[str, Any]
NOTHING = "–"
DESCRIPTIONS = {
    "k fixed": "Ten items are requested, input items are excluded, and every list counts (protocol standard).",
    "k known": "As many items are requested as the real continuation has, and input items are excluded "
    "(protocol paper: a list counts at n only if its continuation has n items).",
    "one given item": "As k fixed, with the same lists and targets, but only the last item of each input is given.",
}
ORDER = (
    "order: share of all pairs of hits that are in the real order (chance: 0.5). exact: share of positions that hold "
    "the real item of that position. adjacent: share of steps from one item to the next that also occur in the real "
    "list, at any position. shuffled: the same items in random order. gain: what the order of the model adds; if its "
    "interval includes 0, no gain was shown."
)
VARIETY = (
    "First 10 items of the answers, cut to the real length / of the real continuations. popularity: mean share of "
    "training lists that contain an item. coherence: share of pairs of items within one category."
)


def write_result(validation: CrossValidation, path: Path) -> dict[str, Any]:
    """Write the result of the finished cells as JSON, and as Markdown beside it, and return it."""
    found = {
        "corpus": validation.split.corpus,
        "fingerprint": validation.split.fingerprint,
        "folds": validation.split.folds,
        "fold_numbers": list(validation.folds),
        "seed": validation.split.seed,
        "part": validation.part,
        "training_seeds": list(validation.seeds),
        **result(read_finished(validation.cells())),
    }
    write_json(path, found)
    write_text(path.with_suffix(".md"), markdown(found))
    return found


def markdown(found: Row) -> str:
    blocks = [f"# {found['corpus']}: {_lists(found)}", _systems(found)]
    for name in EVALUATIONS:
        blocks += [f"## {name}", DESCRIPTIONS[name], _figures(found, name)]
        if found["paired"]:
            blocks += [f"{found['paired'][0]['system']} minus each other system, paired by list:", _paired(found, name)]
        blocks.append(_by_fold(found, name))
    blocks += ["## Order", ORDER, _order(found), "## Variety", VARIETY, _variety(found)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _lists(found: Row) -> str:
    if found["folds"] is None:
        return f"{found['part']} lists of its own split"
    tested, total = len(found["fold_numbers"]), found["folds"]
    folds = f"{total} folds" if tested == total else f"{tested} of {total} folds"
    return f"{folds}, seed {found['seed']}, {found['part']} lists"


def _systems(found: Row) -> str:
    rows = [
        [row["system"], f"{row['cells']} of {row['of']}", _number(row["training_seconds"], 1)]
        for row in found["systems"]
    ]
    return table(["system", "cells finished", "training, s per cell"], rows)


def _figures(found: Row, evaluation: str) -> str:
    by = {(row["system"], row["metric"]): row for row in found["figures"] if row["way"] == evaluation}
    rows = []
    for system in dict.fromkeys(system for system, _ in by):
        own = [by[system, metric] for metric in METRICS]
        lists = f"{own[0]['lists']:,} / {own[-1]['lists']:,}"
        rows.append([system, *(f"{_number(row['mean'])} {_interval(row['interval'])}" for row in own), lists])
    return table(["system", *METRICS, "lists at 5 / 10"], rows)


def _paired(found: Row, evaluation: str) -> str:
    by = {(row["rival"], row["metric"]): row for row in found["paired"] if row["way"] == evaluation}
    rivals = dict.fromkeys(rival for rival, _ in by)
    rows = [[rival, *(_difference(by[rival, metric]) for metric in METRICS)] for rival in rivals]
    return table(["other system", *METRICS], rows)


def _difference(row: Row) -> str:
    if row["difference"] is None:
        return NOTHING
    percent = "" if row["percent"] is None else f", {row['percent']:+.1f}% {_interval(row['percent_interval'], '+.1f')}"
    return f"{row['difference']:+.4f} {_interval(row['interval'], '+.4f')}{percent}"


def _by_fold(found: Row, evaluation: str) -> str:
    own = [row for row in found["figures"] if row["way"] == evaluation and row["metric"] == METRICS[0]]
    folds = [str(fold) for fold in found["fold_numbers"]]
    if len(folds) < 2:
        return ""
    rows = [[row["system"], *(_number(row["folds"].get(fold)) for fold in folds)] for row in own]
    return table([f"{METRICS[0]} of fold", *folds], rows)


def _order(found: Row) -> str:
    rows = []
    for row in found["order"]:
        gains = []
        for name in ("exact", "adjacent"):
            gain = f"{_number(row[f'{name}_gain'])} {_interval(row[f'{name}_gain_ci'])}"
            gains += [_number(row[name]), _number(row[f"{name}_shuffled"]), gain]
        rows.append([row["system"], row["way"], f"{_number(row['order'])} {_interval(row['order_ci'])}", *gains])
    return table(["system", "evaluation", "order", "exact", "shuffled", "gain", "adjacent", "shuffled", "gain"], rows)


def _variety(found: Row) -> str:
    names = {"coverage@10": 4, "categories@10": 2, "popularity@10": 4, "coherence@10": 4}
    rows = [
        [row["system"], row["way"]]
        + [f"{_number(row[name + '_matched'], n)} / {_number(row[name + '_real'], n)}" for name, n in names.items()]
        for row in found["variety"]
    ]
    return table(["system", "evaluation", *names], rows)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table whose columns are padded to equal width."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [head, *rows]
    aligned = [f"| {' | '.join(cell.ljust(w) for cell, w in zip(line, widths, strict=True))} |" for line in lines]
    return "\n".join([aligned[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *aligned[1:]])


def _number(value: float | None, digits: int = 4) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"


def _interval(pair: Sequence[float] | None, form: str = ".4f") -> str:
    return "" if pair is None else f"[{pair[0]:{form}}, {pair[1]:{form}}]"
