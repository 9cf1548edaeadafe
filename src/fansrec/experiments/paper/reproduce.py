"""The whole way: corpora, trainings, timings, the report."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fansrec.experiments.paper.catalogue import Choice
from fansrec.experiments.paper.cells import Corpora, Folder
from fansrec.experiments.paper.corpora import at_hand, prepare_corpora
from fansrec.experiments.paper.report.whole import write_reports
from fansrec.experiments.paper.results import Results
from fansrec.experiments.paper.work import do_all
from fansrec.experiments.progress import Watcher


class Listener(Watcher, Protocol):
    def say(self, text: str) -> None:
        """A line of its own."""


@dataclass(frozen=True)
class Reproduction:
    report: Path
    page: Path
    undone: int  # jobs that failed


def reproduce(
    choice: Choice, out: Path, listener: Listener, workers: int | None, device: str, only_report: bool = False
) -> Reproduction:
    """Everything that is not there yet, and then the report of all there is."""
    notes: list[str] = []

    def note(text: str) -> None:
        listener.say(text)
        if text.startswith("skipped"):
            notes.append(text[0].upper() + text[1:] + ".")

    choice = at_hand(choice, Folder(out), note)
    prepare_corpora(choice, Folder(out), note)
    corpora = Corpora(Folder(out))
    undone = 0 if only_report else do_all(choice, corpora, listener, workers or os.cpu_count() or 1, device)
    report, page = write_reports(Results(choice, corpora), notes)
    return Reproduction(report, page, undone)
