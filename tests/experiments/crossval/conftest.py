"""A small corpus in three folds, made once."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from fansrec.data.corpus import fingerprint, read_corpus
from fansrec.experiments import pool
from fansrec.experiments.crossval.cross_validation import CrossValidation, Split, start_split
from fansrec.experiments.crossval.folds import make_fold
from fansrec.experiments.crossval.systems import parse_systems
from fansrec.experiments.pool import Job, Outcome, call
from worlds import write_walks

FOLDS = 3


@pytest.fixture(scope="session")
def walks_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_walks(tmp_path_factory.mktemp("crossval") / "walks", lists=60, shortest=8, longest=24)


@pytest.fixture(scope="session")
def folds(walks_folder: Path) -> tuple[Path, Split]:
    """The folder of the folds, and how they were made."""
    split = Split("walks", fingerprint(read_corpus(walks_folder)), FOLDS, 0)
    folder = walks_folder.parent / "dealt"
    start_split(folder, split)
    for number in range(FOLDS):
        make_fold(walks_folder, folder, split, number)
    return folder, split


@pytest.fixture
def validation(folds: tuple[Path, Split], tmp_path: Path) -> CrossValidation:
    """All folds in the test's own folder, popularity and EASE."""
    folder, split = folds
    for path in folder.iterdir():
        if path.name != "cells":
            (tmp_path / path.name).symlink_to(path)
    return CrossValidation(tmp_path, split, range(FOLDS), parse_systems("popularity,ease:paper"), [0], "test")


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs jobs in this process: a worker takes seconds to import torch."""

    def outcomes(jobs: Sequence[Job], workers: int, time_limit: float | None = None) -> Iterator[Outcome]:
        for job in sorted(jobs, key=lambda job: -job.cost):
            yield Outcome(job, *call(job), 0.0)

    monkeypatch.setattr(pool, "outcomes", outcomes)
