"""Generate the tables and the picture of docs/explanation/quality.md from the results of `fans crossval`.

    python benchmarks/quality_tables.py benchmarks/rows/quality --write docs/explanation/quality.md

The folder contains NAME.json for a data set's own split and NAME-folds.json for ten folds, as `fans crossval --json`
writes them. A table is in the document between <!-- NAME --> and <!-- /NAME -->. Without --write all tables are
printed. The picture is written to docs/images/quality.png with --picture.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fansrec.evaluation.drawing import LIGHT, new_figure, png, tidy
from fansrec.files import write_bytes
from performance_tables import markdown, print_or_write

Result = dict[str, Any]
SETS = ("aotm", "spotify-attlist", "grateful-dead", "recipes", "aotm-large", "nowplaying")
OURS, WITHOUT = "fans", "fans+network_weight=0"
TITLES = {
    "item-knn": "item-kNN",
    "rp3beta": "RP3beta",
    "ease": "EASE",
    "slist": "SLIST",
    "vstan": "V-STAN",
    WITHOUT: "without its network",
    OURS: "**hybrid**",
}
RIVALS = tuple(TITLES)[:-2]
METRICS = ("NDCG@5", "HR@5", "NDCG@10", "HR@10")
MISSING = "–"


def read(folder: Path, ending: str = "") -> dict[str, Result]:
    """Return the results by data set; all systems have the recipe best, so their names need not say it."""
    files = {name: folder / f"{name}{ending}.json" for name in SETS}
    texts = {name: file.read_text(encoding="utf-8") for name, file in files.items() if file.is_file()}
    return {name: json.loads(text.replace(":best", "")) for name, text in texts.items()}


def mean(result: Result, system: str, metric: str, way: str) -> float | None:
    rows = result["figures"]
    wanted = {"system": system, "metric": metric, "way": way}
    return next((row["mean"] for row in rows if wanted.items() <= row.items()), None)


def figures_table(results: dict[str, Result], way: str) -> Iterator[list[str]]:
    yield ["NDCG@5 / HR@5", *results]
    for system, title in TITLES.items():
        pairs = [[mean(one, system, metric, way) for metric in METRICS[:2]] for one in results.values()]
        yield [title, *(" / ".join(MISSING if value is None else f"{value:.4f}" for value in pair) for pair in pairs)]


def gains_table(results: dict[str, Result], way: str) -> Iterator[list[str]]:
    """Yield what the hybrid model gains over the best other model by each metric, named where it is another one."""
    yield ["", "best other model", *METRICS]
    for name, result in results.items():
        best = [best_rival(result, metric, way) for metric in METRICS]
        gains = [gain(result, rival, metric, way) for rival, metric in zip(best, METRICS, strict=True)]
        notes = ["" if rival in (best[0], None) else f" ({TITLES[rival]})" for rival in best]
        first = MISSING if best[0] is None else TITLES[best[0]]
        yield [name, first, *(value + note for value, note in zip(gains, notes, strict=True))]


def best_rival(result: Result, metric: str, way: str) -> str | None:
    means = {rival: value for rival in RIVALS if (value := mean(result, rival, metric, way)) is not None}
    return max(means, key=means.__getitem__, default=None)


def gain(result: Result, rival: str | None, metric: str, way: str) -> str:
    wanted = {"system": OURS, "rival": rival, "metric": metric, "way": way}
    for row in result["paired"]:
        if wanted.items() <= row.items() and row["percent"] is not None:
            low, high = row["percent_interval"]
            return f"{row['percent']:+.1f}% [{low:+.1f}, {high:+.1f}]"
    ours, theirs = mean(result, OURS, metric, way), rival and mean(result, rival, metric, way)
    return f"{100 * (ours - theirs) / theirs:+.1f}%" if ours and theirs else MISSING  # not measured list by list


def network_table(results: dict[str, Result]) -> Iterator[list[str]]:
    """Yield what the network adds to the other parts."""
    yield ["", *METRICS]
    for name, result in results.items():
        yield [name, *(gain(result, WITHOUT, metric, "k fixed") for metric in METRICS)]


def order_table(results: dict[str, Result]) -> Iterator[list[str]]:
    yield [
        "",
        "order of hits",
        *(f"{name}{part}" for name in ("exact", "adjacent") for part in (", ours", ", shuffled", ": gain")),
    ]
    for name, result in results.items():
        row = row_of(result["order"], OURS)
        if row is None:
            continue
        low, high = row["order_ci"]
        cells = [name, f"{row['order']:.3f} [{low:.3f}, {high:.3f}]"]
        for kind in ("exact", "adjacent"):
            low, high = row[f"{kind}_gain_ci"]
            gained = f"{row[f'{kind}_gain']:+.4f} [{low:+.4f}, {high:+.4f}]"
            cells += [f"{row[kind]:.4f}", f"{row[f'{kind}_shuffled']:.4f}", gained]
        yield cells


def variety_table(results: dict[str, Result]) -> Iterator[list[str]]:
    """Yield real continuations, the hybrid model and EASE: the hybrid model's row holds those of the real ones too."""
    digits = {"coverage@10": 3, "categories@10": 2, "popularity@10": 4, "coherence@10": 3}
    yield ["", "", "coverage", "categories per answer", "mean popularity of an item", "pairs within a category"]
    for name, result in results.items():
        for title, system, ending in (
            ("real", OURS, "_real"),
            ("hybrid", OURS, "_matched"),
            ("EASE", "ease", "_matched"),
        ):
            row = row_of(result["variety"], system)
            if row is not None:
                yield [name, title, *(f"{row[column + ending]:.{n}f}" for column, n in digits.items())]


def row_of(rows: list[Result], system: str) -> Result | None:
    wanted = {"system": system, "way": "k fixed"}
    return next((row for row in rows if wanted.items() <= row.items()), None)


def tables(folder: Path) -> dict[str, str]:
    found = {}
    for prefix, results in (("split", read(folder)), ("folds", read(folder, "-folds"))):
        if results:
            found[f"{prefix}-figures"] = markdown(figures_table(results, "k fixed"))
            found[f"{prefix}-gains"] = markdown(gains_table(results, "k fixed"))
            found[f"{prefix}-one-item"] = markdown(gains_table(results, "one given item"))
            found[f"{prefix}-network"] = markdown(network_table(results))
            found[f"{prefix}-order"] = markdown(order_table(results))
            found[f"{prefix}-variety"] = markdown(variety_table(results))
    return found


def draw(results: dict[str, Result]) -> bytes:
    """Return one panel per data set: NDCG@5 of every model, with its interval."""
    systems = [system for system in TITLES if system != WITHOUT]
    figure = new_figure(12, 6)
    for panel, (name, result) in enumerate(results.items()):
        axes = figure.add_subplot(2, 3, panel + 1)
        rows = [row for row in result["figures"] if row["way"] == "k fixed" and row["metric"] == "NDCG@5"]
        for row in rows:
            if row["system"] in systems and row["mean"] is not None:
                y = systems.index(row["system"])
                color = LIGHT.bars["standard" if row["system"] == OURS else "paper"]
                axes.barh(y, row["mean"], height=0.7, color=color)
                if row["interval"] is not None:
                    axes.plot(row["interval"], [y, y], color=LIGHT.ink, linewidth=1.4, marker="|", markersize=7)
        names = [TITLES[system].strip("*") for system in systems]
        axes.set_yticks(range(len(systems)), names if panel % 3 == 0 else [""] * len(systems))
        axes.invert_yaxis()
        axes.set_title(name, fontsize=11)
        tidy(axes, LIGHT)
    return png(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of the results")
    parser.add_argument("--write", type=Path, help="document whose tables are replaced")
    parser.add_argument("--picture", type=Path, help="file for the picture")
    options = parser.parse_args()
    print_or_write(tables(options.folder), options.write)
    if options.picture is not None:
        write_bytes(options.picture, draw(read(options.folder)))


if __name__ == "__main__":
    main()
