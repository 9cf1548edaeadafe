"""The whole way from a corpus to a result: folds, cells, report; each can be asked for alone."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from fansrec.data.corpus import Corpus, fingerprint, read_corpus
from fansrec.errors import Unfinished
from fansrec.experiments.crossval.drawing import draw
from fansrec.experiments.crossval.folds import deal, fold_jobs
from fansrec.experiments.crossval.report import write_result
from fansrec.experiments.crossval.split import Split, begin_split, is_made
from fansrec.experiments.crossval.systems import System, check_systems
from fansrec.experiments.crossval.work import Choice
from fansrec.experiments.pool import DONE, run_jobs
from fansrec.experiments.progress import Watcher


class Listener(Watcher, Protocol):
    def say(self, text: str) -> None:
        """A line of its own."""


@dataclass(frozen=True)
class Wish:
    """What the command line was told."""

    corpus: Path
    out: Path | None
    folds: int | None  # None: as the corpus is split
    seed: int
    fold_numbers: list[int]
    systems: list[System]
    seeds: list[int]  # of training
    part: str

    @property
    def folder(self) -> Path:
        """Unless told otherwise, beside the corpus, with folds and seed in its name."""
        name = "as-is" if self.folds is None else f"{self.folds}-folds-seed-{self.seed}"
        return self.out or self.corpus.parent / f"{self.corpus.resolve().name}-crossval" / name


def begin(wish: Wish, listener: Listener) -> Choice:
    """Everything is looked at before the first fold is made."""
    corpus = read_corpus(wish.corpus)
    check_systems(wish.systems, corpus)
    seed = None if wish.folds is None else wish.seed
    if wish.folds is not None:
        deal(len(corpus), wish.folds, wish.seed)
    split = Split(wish.corpus.resolve().name, fingerprint(corpus), wish.folds, seed)
    choice = Choice(wish.folder, split, split.chosen(wish.fold_numbers), wish.systems, wish.seeds, wish.part)
    begin_split(choice.folder, split)
    if wish.folds is not None and _grouped(corpus):
        listener.say("the corpus was split by groups of lists, which it does not keep: folds are dealt list by list")
    return choice


def _grouped(corpus: Corpus) -> bool:
    return corpus.summary.get("preparation", {}).get("split_by") is not None


def make_folds(wish: Wish, choice: Choice, listener: Listener, workers: int) -> None:
    jobs = fold_jobs(wish.corpus, choice.folder, choice.split, list(choice.folds))
    listener.begin("folds", len(jobs))
    outcomes = run_jobs(jobs, workers, listener.ended)
    if any(outcome.state != DONE for outcome in outcomes):
        raise Unfinished("some folds could not be made; mend what was told and run the same command again")


def report(choice: Choice, path: Path) -> dict[str, Any]:
    """JSON, Markdown and a picture, all of one name; folds that are not made are left out."""
    there = [fold for fold in choice.folds if is_made(choice.folder, fold)]
    found = write_result(Choice(choice.folder, choice.split, there, choice.systems, choice.seeds, choice.part), path)
    draw(found, path.with_suffix(".png"))
    return found
