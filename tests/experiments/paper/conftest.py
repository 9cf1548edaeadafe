"""A whole reproduction in half a minute: the quick one, on corpora so small that a cell takes a moment."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fansrec.data.corpus import Corpus, write_corpus
from fansrec.experiments.paper.catalogue import Choice, choose
from fansrec.experiments.paper.cells import Corpora, Folder
from fansrec.experiments.paper.reproduce import Reproduction, reproduce
from fansrec.experiments.pool import Outcome
from worlds import CATEGORIES, ITEMS_PER_CATEGORY, vocabulary_of, walks

ITEMS = CATEGORIES * ITEMS_PER_CATEGORY


@dataclass
class Ear:
    """Hears what a reproduction tells."""

    said: list[str] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    def say(self, text: str) -> None:
        self.said.append(text)

    def begin(self, what: str, jobs: int) -> None:
        pass

    def ended(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)


@dataclass(frozen=True)
class Quick:
    out: Path
    choice: Choice
    made: Reproduction
    ear: Ear

    def again(self) -> tuple[Reproduction, Ear]:
        ear = Ear()
        return reproduce(self.choice, self.out, ear, 2, "cpu"), ear


def write_corpora(out: Path, numbers: Sequence[int] = (1, 10, 50)) -> Corpora:
    """The same walks with as many categories as asked for, as corpora of the sample world."""
    made = walks(shortest=10, longest=24)
    for number in numbers:
        sizes = [ITEMS // number + (place < ITEMS % number) for place in range(number)]
        vocabulary = vocabulary_of(sizes)
        summary = {**made.summary, "categories": number}
        corpus = Corpus(made.items, made.offsets, made.parts, vocabulary, summary)
        write_corpus(Folder(out).corpus("sample", number), corpus)
    return Corpora(Folder(out))


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Quick:
    """`fans reproduce all --quick`, done once for all tests."""
    out = tmp_path_factory.mktemp("reproduction")
    write_corpora(out)
    choice = choose(["all"], ["sample"], quick=True)
    ear = Ear()
    return Quick(out, choice, reproduce(choice, out, ear, 2, "cpu"), ear)


@pytest.fixture
def corpora(tmp_path: Path) -> Corpora:
    """A folder with nothing but one small corpus, `sample` with 10 categories."""
    return write_corpora(tmp_path, [10])
