"""The trained models of the measurements. A model that is there is not trained again, so that a run can be resumed."""

import json
import os
import resource
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.updates.corpora import NamedList, make_corpus

from fansrec.artifact import MANIFEST
from fansrec.data.corpus import SUMMARY
from fansrec.files import write_json
from fansrec.training.reporting import Reporter
from fansrec.training.trainer import train

TIMES = "times.json"  # beside the run: what its training took


@dataclass(frozen=True)
class Training:
    """Where the models of one data set are, and how they are trained."""

    folder: Path
    settings: Mapping[str, Any]
    reporter: Reporter

    def model(
        self, name: str, lists: Sequence[NamedList], start: Path | None = None, items: Path | None = None
    ) -> Path:
        """Return the folder of the model that is trained on these lists; `start` is one whose weights it starts with.

        A started model has the settings of that model.
        """
        run = self.folder / name
        if (run / MANIFEST).is_file() and _times(run).is_file():
            return run
        self.reporter.message(f"{name}: training on {len(lists):,} lists")
        shutil.rmtree(run, ignore_errors=True)
        corpus = self.corpus(name, lists, items)
        wall, cpu = time.monotonic(), _cpu_seconds()
        values = self.settings if start is None else {}
        train(corpus, run, "fans", values, self.reporter, compare=False, start=start)
        times = {"seconds": time.monotonic() - wall, "cpu_seconds": _cpu_seconds() - cpu, "cores": os.cpu_count()}
        write_json(_times(run), times)
        return run

    def corpus(self, name: str, lists: Sequence[NamedList], items: Path | None = None) -> Path:
        """Return the folder of the corpus of a model, which is made of these lists if it is not there yet."""
        folder = self.folder / f"{name}-corpus"
        if not (folder / SUMMARY).is_file():
            make_corpus(lists, folder, items)
        return folder


def times(run: Path) -> dict[str, float]:
    """Return the seconds that the training of a model took, by the clock and of all threads."""
    found: dict[str, float] = json.loads(_times(run).read_text(encoding="utf-8"))
    return found


def _times(run: Path) -> Path:
    return run.with_name(f"{run.name}-{TIMES}")


def _cpu_seconds() -> float:
    """Return the processor time of this process and its children that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in usages)
