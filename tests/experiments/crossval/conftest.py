"""A small corpus dealt into three folds, made once."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from fansrec.data.corpus import fingerprint, read_corpus
from fansrec.experiments.crossval import whole, work
from fansrec.experiments.crossval.folds import make_fold
from fansrec.experiments.crossval.split import Split, begin_split
from fansrec.experiments.crossval.systems import parse_systems
from fansrec.experiments.crossval.work import Choice
from fansrec.experiments.pool import Job, Outcome, Tell, _done
from worlds import write_walks

FOLDS = 3


@pytest.fixture(scope="session")
def walks_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_walks(tmp_path_factory.mktemp("crossval") / "walks", lists=60, shortest=8, longest=24)


@pytest.fixture(scope="session")
def dealt(walks_folder: Path) -> tuple[Path, Split]:
    """The folder of the folds, and how they were dealt."""
    split = Split("walks", fingerprint(read_corpus(walks_folder)), FOLDS, 0)
    folder = walks_folder.parent / "dealt"
    begin_split(folder, split)
    for number in range(FOLDS):
        make_fold(walks_folder, folder, split, number)
    return folder, split


@pytest.fixture
def choice(dealt: tuple[Path, Split], tmp_path: Path) -> Choice:
    """All folds in a folder of the test's own, popularity against EASE."""
    folder, split = dealt
    for path in folder.iterdir():
        if path.name != "cells":
            (tmp_path / path.name).symlink_to(path)
    return Choice(tmp_path, split, range(FOLDS), parse_systems("popularity,ease:paper"), [0], "test")


@pytest.fixture
def in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs one after the other in this process: a worker takes seconds to import torch."""

    def run_jobs(jobs: Sequence[Job], workers: int, tell: Tell, time_limit: float | None = None) -> list[Outcome]:
        outcomes = [Outcome(job, *_done(job), 0.0) for job in sorted(jobs, key=lambda job: -job.cost)]
        for outcome in outcomes:
            tell(outcome)
        return outcomes

    for module in (work, whole):
        monkeypatch.setattr(module, "run_jobs", run_jobs)
