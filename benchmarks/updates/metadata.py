"""Measure how well items are recommended that no list contains, of which only group, category and name are known.

    python -m benchmarks.updates.metadata sample --work build/updates --json ROWS/metadata-sample.json
    python -m benchmarks.updates.metadata recipes --work build/updates --json ROWS/metadata-recipes.json

A twentieth of the items, drawn at random, is taken out of all lists that the model is trained on. `fans update` then
describes them, with all that is known and with parts of it. The newest tenth of the lists, in which they still are, is
continued, ten items for each; recall@10 counts the described items in the targets. It is compared with that of ten
items drawn at random from the catalog. The sample world has artists as groups, and genres as categories. Recipes have
names of ingredients; the group of one is the last word of its name (`cheese` of `feta cheese`).
"""

import argparse
import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.updates.cells import Training, times
from benchmarks.updates.corpora import NamedList, Periods, in_periods, read_lists, read_names
from benchmarks.updates.judging import Judge

from fansrec.artifact import read_artifact
from fansrec.data.sample import make_sample
from fansrec.evaluation.bootstrap import interval_list
from fansrec.evaluation.metrics import Floats
from fansrec.experiments.speed.rows import write_rows
from fansrec.training.reporting import PlainReporter
from fansrec.updating.changes import SetItem
from fansrec.updating.update import update

Row = dict[str, Any]
FIELDS = ("group", "category", "name")
HELD_OUT_SHARE = 0.05
FEWEST = 2  # items of a list that is trained on


@dataclass(frozen=True)
class World:
    lists: list[NamedList]
    items: dict[str, dict[str, str]]  # what is known of each item, by its id
    fields: tuple[str, ...] = FIELDS  # that items have


def main() -> None:
    options = parse()
    settings = {"epochs": options.epochs, "seed": options.seed}
    world = sample_world() if options.source == "sample" else named_world(options.source, options.newest)
    training = Training(options.work / f"metadata-{options.source}", settings, PlainReporter())
    label = {"set": options.source, "newest": options.newest, **settings}
    rows = [label | row for row in measured(training, world, options.seed)]
    write_rows(options.json, rows)
    for row in rows:
        print(f"{row['known'] or 'nothing':22} recall@10 {row['mean']:.4f}, {row['times_random']:.1f} x random")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.updates.metadata",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", help="sample, or the name of a public set whose items have names")
    parser.add_argument("--work", type=Path, required=True, help="folder for corpora and models")
    parser.add_argument("--json", type=Path, required=True, help="file to write the rows to")
    parser.add_argument("--newest", type=int, help="use only that many lists of a public set, the newest ones")
    parser.add_argument("--epochs", type=int, default=6, help="maximum number of epochs of the training run")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the items and of the training run")
    return parser.parse_args()


def sample_world() -> World:
    sample = make_sample()
    lists = [NamedList(f"l{number}", items) for number, items in enumerate(sample.lists)]
    return World(lists, {row["item"]: {name: row[name] for name in FIELDS} for row in sample.items})


def named_world(source: str, newest: int | None) -> World:
    """Return a set whose items have names; the last word of a name is the group."""
    lists, names = read_lists(source, newest), read_names(source)
    return World(
        lists, {id_: {"name": name, "group": name.split()[-1]} for id_, name in names.items()}, ("group", "name")
    )


def measured(training: Training, world: World, seed: int) -> list[Row]:
    """Return the rows of the updates with what is known of the held-out items."""
    periods, held_out = in_periods(world.lists), draw_items(world.lists, seed)
    run = training.model("run", without(periods, held_out), items=_items_file(training.folder, world, held_out))
    trained, judge = read_artifact(run), Judge.of(periods.later)
    rows = []
    for fields in (world.fields, *((name,) for name in world.fields), ()):
        model, _ = update(trained, descriptions(world.items, held_out, fields))
        recall = judge.metrics(judge.answers(model), held_out)["recall@10"]
        label = {"known": ", ".join(fields), "held_out": len(held_out), "items": len(model.vocabulary)}
        rows.append(label | row_of(recall, 10 / len(model.vocabulary)) | times(run))
    return rows


def row_of(recall: Floats, random: float) -> Row:
    """Return the mean recall of the lists, and how many times that of ten items drawn at random it is."""
    mean, bounds = float(recall.mean()), interval_list(recall)
    return {
        "lists": len(recall),
        "metric": "recall@10",
        "mean": mean,
        "interval": bounds,
        "random": random,
        "times_random": mean / random,
        "times_random_interval": bounds and [bound / random for bound in bounds],
    }


def draw_items(lists: Sequence[NamedList], seed: int) -> set[str]:
    """Return the items that are held out, the same for the same seed."""
    ids = sorted({id_ for one in lists for id_ in one.items})
    random = np.random.default_rng(seed)
    return {*random.choice(ids, max(1, round(HELD_OUT_SHARE * len(ids))), replace=False).tolist()}


def without(periods: Periods, held_out: set[str]) -> list[NamedList]:
    """Return the lists before the test lists, without these items."""
    kept = [
        NamedList(one.id, [id_ for id_ in one.items if id_ not in held_out]) for one in (*periods.old, *periods.new)
    ]
    return [one for one in kept if len(one.items) >= FEWEST]


def descriptions(items: Mapping[str, Mapping[str, str]], held_out: set[str], fields: Sequence[str]) -> list[SetItem]:
    """Return the changes that describe the held-out items with some of what is known."""
    return [SetItem(id_, **{name: items[id_][name] for name in fields}) for id_ in sorted(held_out)]


def _items_file(folder: Path, world: World, held_out: set[str]) -> Path:
    """Write what is known of the items that are trained."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "items.csv"
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, ["item", *world.fields])
        writer.writeheader()
        writer.writerows({"item": id_} | own for id_, own in world.items.items() if id_ not in held_out)
    return file


if __name__ == "__main__":
    main()
