"""`fans reproduce` as a whole: corpora, training runs, timings, report."""

import os
from dataclasses import dataclass
from pathlib import Path

from fansrec.experiments.paper.catalogue import Selection
from fansrec.experiments.paper.cells import Corpora
from fansrec.experiments.paper.corpora import available, prepare_corpora
from fansrec.experiments.paper.jobs import run_all
from fansrec.experiments.paper.report.document import write_reports
from fansrec.experiments.paper.results import Results
from fansrec.experiments.pool import Progress


@dataclass(frozen=True)
class Reproduction:
    """The written reports and the number of jobs that failed or were stopped."""

    report: Path
    page: Path
    unfinished: int


def reproduce(
    selection: Selection, out: Path, progress: Progress, workers: int | None, device: str, only_report: bool = False
) -> Reproduction:
    """Run everything that is not finished, then report everything that is."""
    notes: list[str] = []

    def note(text: str) -> None:
        progress.say(text)
        if text.startswith("skipped"):
            notes.append(text[0].upper() + text[1:] + ".")

    corpora = Corpora(out)
    selection = available(selection, corpora, note)
    prepare_corpora(selection, corpora, note)
    unfinished = 0
    if not only_report:
        unfinished = run_all(selection, corpora, progress, workers or os.cpu_count() or 1, device)
    report, page = write_reports(Results(selection, corpora), notes)
    return Reproduction(report, page, unfinished)
