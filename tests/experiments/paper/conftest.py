"""A complete quick reproduction in half a minute, on very small corpora."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fansrec.data.corpus import Corpus, write_corpus
from fansrec.experiments.paper.catalogue import Selection, select
from fansrec.experiments.paper.cells import Corpora
from fansrec.experiments.paper.reproduce import reproduce
from fansrec.experiments.pool import Outcome
from worlds import CATEGORIES, ITEMS_PER_CATEGORY, vocabulary_of, walks

ITEMS = CATEGORIES * ITEMS_PER_CATEGORY


@dataclass
class Recorder:
    """Records the messages and outcomes of a reproduction."""

    said: list[str] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)

    def say(self, text: str) -> None:
        self.said.append(text)

    def begin(self, title: str, jobs: int) -> None:
        pass

    def ended(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)


@dataclass(frozen=True)
class Quick:
    out: Path
    selection: Selection
    unfinished: int
    recorder: Recorder

    def again(self) -> tuple[int, Recorder]:
        """Return the number of unfinished jobs of a second run, and what it reported."""
        recorder = Recorder()
        return reproduce(self.selection, self.out, recorder, 2, "cpu")[1], recorder


def write_corpora(out: Path, numbers: Sequence[int] = (1, 10, 50)) -> Corpora:
    """Write the same walks with each number of categories, as corpora of the data set `sample`."""
    corpora, made = Corpora(out), walks(shortest=10, longest=24)
    for number in numbers:
        sizes = [ITEMS // number + (category < ITEMS % number) for category in range(number)]
        vocabulary = vocabulary_of(sizes)
        summary = {**made.summary, "categories": number}
        corpus = Corpus(made.items, made.offsets, made.parts, vocabulary, summary)
        write_corpus(corpora.folder("sample", number), corpus)
    return corpora


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Quick:
    """`fans reproduce all --quick`, run once for all tests."""
    out = tmp_path_factory.mktemp("reproduction")
    write_corpora(out)
    selection = select(["all"], ["sample"], quick=True)
    recorder = Recorder()
    _, unfinished = reproduce(selection, out, recorder, 2, "cpu")
    return Quick(out, selection, unfinished, recorder)


@pytest.fixture
def corpora(tmp_path: Path) -> Corpora:
    """A folder with one small corpus, `sample` with 10 categories."""
    return write_corpora(tmp_path, [10])
