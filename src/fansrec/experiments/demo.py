"""The whole way in two minutes: a made-up world, a corpus, four models, their figures, a few lists continued."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from fansrec.api.continuer import Continuer, load
from fansrec.data.corpus import Corpus, read_corpus
from fansrec.data.prepare import prepare
from fansrec.data.sample import write_sample
from fansrec.data.settings import Preparation
from fansrec.data.targets import target_lengths
from fansrec.evaluation.protocol import protocol
from fansrec.evaluation.rows import evaluate_run, open_run
from fansrec.evaluation.tables import print_tables
from fansrec.printable import printable
from fansrec.training.reporting import Reporter
from fansrec.training.trainer import train

# A third of the epochs that the recipe would take: two minutes on two cores, and nearly as good.
FANS: Mapping[str, Any] = {"recipe": "best", "epochs": 10}
# Beside it, what one would use otherwise; they are fitted in a moment.
RIVALS = ("popularity", "item-knn", "ease")
EXAMPLES = 3


def run_demo(folder: Path, seed: int, console: Console, reporter: Reporter) -> list[dict[str, Any]]:
    """Everything into `folder`; gives the rows of the table it prints."""
    _step(console, "1. A world of songs", ", made up from a seed")
    lists, items = write_sample(folder / "world", seed)
    _step(console, "\n2. A corpus", ": filtered, split, categories taken from the items file")
    prepare(lists, folder / "corpus", Preparation(max_length=40, seed=seed), items, report=reporter.message)
    corpus = read_corpus(folder / "corpus")
    _step(console, "\n3. Four models")
    console.print("   popularity is the same for everyone;")
    console.print("   item-kNN gives what stands in the same lists;")
    console.print("   EASE is a regression of every item on all others;")
    console.print("   FANS writes the continuation in one pass, and remembers lists like it")
    for model in RIVALS:
        train(folder / "corpus", folder / model, model, {}, reporter)
    train(folder / "corpus", folder / "fans", "fans", {**FANS, "seed": seed}, reporter)
    _step(console, "\n4. How good they are", " on lists nobody trained on")
    rows = [evaluate_run(open_run(folder / run, corpus), corpus, protocol("standard")) for run in (*RIVALS, "fans")]
    print_tables(rows, console)
    _step(console, "5. Lists continued", "; songs that really follow are marked with *")
    continuer = load(folder / "fans")
    for index in corpus.part("test")[:EXAMPLES]:
        _show(continuer, corpus, int(index), console)
    return rows


def _step(console: Console, title: str, rest: str = "") -> None:
    console.print(Text.assemble((title, "bold"), rest))


def _show(continuer: Continuer, corpus: Corpus, index: int, console: Console) -> None:
    numbers = corpus.list(index).tolist()
    cut = len(numbers) - int(target_lengths(corpus.lengths[[index]])[0])
    vocabulary = corpus.vocabulary
    really = {vocabulary.id(i) for i in numbers[cut:]}
    (answer,) = continuer.continue_lists([[vocabulary.id(i) for i in numbers[:cut]]], k=5)
    console.print(f"\n  … {', '.join(printable(vocabulary.label(i)) for i in numbers[cut - 3 : cut])}", markup=False)
    for position in answer.positions:
        mark = "*" if position.item in really else " "
        console.print(printable(f"   {mark} {position.name} ({position.category})"), markup=False)
