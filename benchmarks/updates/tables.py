"""Generate the tables and the picture of docs/explanation/updates.md from measured rows.

    python -m benchmarks.updates.tables benchmarks/rows/updates --write docs/explanation/updates.md \\
        --picture docs/images/updates.png

The folder contains NAME.json of `benchmarks.updates.quality` and metadata-NAME.json of `benchmarks.updates.metadata`.
A table is in the document between <!-- NAME --> and <!-- /NAME -->. Without --write all tables are printed.
"""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.performance_tables import markdown, print_or_write, read
from benchmarks.updates.quality import AGAIN, ALL, NEW_ITEMS, STARTED, UPDATED, WITHOUT

from fansrec.evaluation.drawing import LIGHT, new_figure, png, tidy
from fansrec.files import write_bytes

Row = dict[str, Any]
SETS = ("nowplaying", "aotm-large")
WORLDS = {"sample": "sample world", "recipes": "recipes"}
TARGETS = {ALL: 97, NEW_ITEMS: 80}  # percent of NDCG@5 of the model that is trained again
TIMES_RANDOM = 5
METRICS = ("NDCG@5", "HR@5", "NDCG@10", "HR@10")
MODELS = {WITHOUT: "without update", UPDATED: "`fans update`", STARTED: "`fans train --start`", AGAIN: AGAIN}


class Rows:
    """The measured rows by data set."""

    def __init__(self, folder: Path) -> None:
        self.quality = {name: found for name in SETS if (found := read(folder / f"{name}.json"))}
        self.metadata = {name: found for name in WORLDS if (found := read(folder / f"metadata-{name}.json"))}

    def row(self, name: str, **values: str) -> Row | None:
        return next((row for row in self.quality[name] if values.items() <= row.items()), None)


def targets_table(rows: Rows) -> Iterator[list[str]]:
    yield ["", "target", "measured", "95% interval", "reached"]
    for counted, target in TARGETS.items():
        for name in rows.quality:
            row = rows.row(name, counted=counted, model=UPDATED, metric="NDCG@5")
            if row and row["percent_of_again"] is not None:
                share, reached = row["percent_of_again"], row["percent_of_again"] >= target
                yield [f"{counted}, {name}", f"{target}% of NDCG@5", f"{share:.1f}%", bounds(row), yes(reached)]
    for name, found in rows.metadata.items():
        low, high = found[0]["times_random_interval"]
        times = found[0]["times_random"]
        measured = [f"{times:.1f} x", f"[{low:.1f}, {high:.1f}]", yes(times >= TIMES_RANDOM)]
        yield [f"items of no list, {WORLDS[name]}", f"{TIMES_RANDOM} x random", *measured]


def quality_table(rows: Rows, counted: str) -> Iterator[list[str]]:
    yield ["", "", *METRICS, "NDCG@5 of trained again"]
    for name in rows.quality:
        for model, title in MODELS.items():
            found = [rows.row(name, counted=counted, model=model, metric=metric) for metric in METRICS]
            if (row := found[0]) and row["percent_of_again"] is not None:
                yield [
                    f"{name}, {row['lists']:,} lists",
                    title,
                    *(f"{one['mean']:.4f}" for one in found if one),
                    of_again(row),
                ]


def time_table(rows: Rows) -> Iterator[list[str]]:
    yield ["", "", "processor time", "of trained again", "NDCG@5", "of trained again"]
    for name in rows.quality:
        again = rows.row(name, counted=ALL, model=AGAIN, metric="NDCG@5")
        for model in (STARTED, AGAIN):
            row = rows.row(name, counted=ALL, model=model, metric="NDCG@5")
            if row and again:
                share = row["cpu_seconds"] / again["cpu_seconds"]
                seconds = [f"{row['cpu_seconds']:.0f} s", f"{100 * share:.0f}%"]
                yield [name, MODELS[model], *seconds, f"{row['mean']:.4f}", of_again(row)]


def metadata_table(rows: Rows) -> Iterator[list[str]]:
    yield ["", "known of the items", "recall@10", "of ten random items", "times as high", "95% interval"]
    for name, found in rows.metadata.items():
        for row in found:
            low, high = row["times_random_interval"]
            recall = [f"{row['mean']:.4f}", f"{row['random']:.4f}", f"{row['times_random']:.1f}"]
            yield [WORLDS[name], row["known"] or "nothing", *recall, f"[{low:.1f}, {high:.1f}]"]


def of_again(row: Row) -> str:
    """Return the share of the model that is trained again, with its interval; nothing for that model itself."""
    if row["model"] == AGAIN:
        return ""
    return f"{row['percent_of_again']:.1f}% {bounds(row)}" if row["mean"] else "0%"


def bounds(row: Row) -> str:
    low, high = row["percent_interval"]
    return f"[{low:.1f}, {high:.1f}]"


def yes(reached: bool) -> str:
    return "yes" if reached else "**missed**"


def tables(rows: Rows) -> dict[str, str]:
    made: dict[str, Iterable[list[str]]] = {
        "targets": targets_table(rows),
        "all-items": quality_table(rows, ALL),
        "new-items": quality_table(rows, NEW_ITEMS),
        "times": time_table(rows),
        "metadata": metadata_table(rows),
    }
    return {f"updates-{name}": markdown(table) for name, table in made.items()}


def draw(rows: Rows) -> bytes:
    """Return a panel for each data set and kind of items: NDCG@5 of every model, with its interval."""
    figure = new_figure(10, 2.2 * max(1, len(rows.quality)))
    names = [title.strip("`") for title in MODELS.values()]
    for line, name in enumerate(rows.quality):
        for column, counted in enumerate((ALL, NEW_ITEMS)):
            axes = figure.add_subplot(len(rows.quality), 2, 2 * line + column + 1)
            for y, model in enumerate(MODELS):
                row = rows.row(name, counted=counted, model=model, metric="NDCG@5")
                if row and row["interval"]:
                    axes.barh(y, row["mean"], height=0.7, color=LIGHT.bars["standard" if model == UPDATED else "paper"])
                    axes.plot(row["interval"], [y, y], color=LIGHT.ink, linewidth=1.4, marker="|", markersize=7)
            axes.set_yticks(range(len(names)), [""] * len(names) if column else names)
            axes.invert_yaxis()
            axes.set_title(f"{name}: NDCG@5, {counted}", fontsize=11)
            tidy(axes, LIGHT)
    return png(figure)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.updates.tables",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, help="folder of the measured rows")
    parser.add_argument("--write", type=Path, help="document whose tables are replaced")
    parser.add_argument("--picture", type=Path, help="file for the picture")
    options = parser.parse_args()
    rows = Rows(options.folder)
    print_or_write(tables(rows), options.write)
    if options.picture is not None:
        write_bytes(options.picture, draw(rows))


if __name__ == "__main__":
    main()
