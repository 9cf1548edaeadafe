"""`fans demo`: generate a sample world, prepare it, train four models, evaluate them, continue a few lists."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from fansrec.api.continuer import Continuer, load
from fansrec.data.corpus import Corpus, read_corpus, target_lengths
from fansrec.data.prepare import prepare
from fansrec.data.sample import write_sample
from fansrec.data.settings import Preparation
from fansrec.evaluation.protocol import protocol
from fansrec.evaluation.rows import measure_run, open_run
from fansrec.evaluation.tables import print_tables
from fansrec.printable import printable
from fansrec.training.reporting import Reporter
from fansrec.training.trainer import train

# A quarter of the recipe's epochs and no linear part, whose search alone takes half a minute: the whole demo takes less
# than a minute on two cores.
FANS: Mapping[str, Any] = {"recipe": "best", "epochs": 7, "linear_weight": 0.0}
BASELINES = ("popularity", "item-knn", "ease")  # trained within seconds
EXAMPLES = 3


def run_demo(folder: Path, seed: int, console: Console, reporter: Reporter) -> list[dict[str, Any]]:
    """Write everything to `folder` and return the rows of the printed table."""
    _heading(console, "1. Generate a world of songs", " from a random seed")
    lists, items = write_sample(folder / "world", seed)
    _heading(console, "\n2. Prepare a corpus", ": filter, split, take the categories from the items file")
    preparation = Preparation(max_length=40, seed=seed, group_name="artist")
    prepare(lists, folder / "corpus", preparation, items, report=reporter.message)
    corpus = read_corpus(folder / "corpus")
    _heading(console, "\n3. Train four models")
    console.print("   popularity recommends the same items to everyone;")
    console.print("   item-kNN recommends items that occur in the same lists;")
    console.print("   EASE is a linear regression of every item on all others;")
    console.print("   FANS generates the continuation in one pass and adds a memory of similar lists")
    for model in BASELINES:
        train(folder / "corpus", folder / model, model, {}, reporter, recipe="paper", compare=False)
    train(folder / "corpus", folder / "fans", "fans", {**FANS, "seed": seed}, reporter, recipe="paper", compare=False)
    _heading(console, "\n4. Evaluate them", " on lists that no model was trained on")
    runs = (*BASELINES, "fans")
    rows = [measure_run(open_run(folder / run, corpus), corpus, protocol("standard")).row for run in runs]
    print_tables(rows, console)
    _heading(console, "5. Continue lists", "; songs of the real continuation are marked with *")
    continuer = load(folder / "fans")
    for index in corpus.part("test")[:EXAMPLES]:
        _print_example(continuer, corpus, int(index), console)
    return rows


def _heading(console: Console, title: str, rest: str = "") -> None:
    console.print(Text.assemble((title, "bold"), rest))


def _print_example(continuer: Continuer, corpus: Corpus, index: int, console: Console) -> None:
    items, vocabulary = corpus.list(index).tolist(), corpus.vocabulary
    cut = len(items) - int(target_lengths(corpus.lengths[[index]])[0])
    target = {vocabulary.id(i) for i in items[cut:]}
    (answer,) = continuer.continue_lists([[vocabulary.id(i) for i in items[:cut]]], k=5)
    console.print(f"\n  … {', '.join(printable(vocabulary.label(i)) for i in items[cut - 3 : cut])}", markup=False)
    for position in answer.positions:
        mark = "*" if position.item in target else " "
        console.print(printable(f"   {mark} {position.name} ({position.category})"), markup=False)
