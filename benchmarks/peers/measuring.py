"""Measure one model: choose its settings on the validation lists, fit it with all lists, answer the test lists."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.peers.catalog import Peer, Settings
from benchmarks.peers.files import answers_file, write_lists
from benchmarks.peers.judging import BadAnswers, judge
from benchmarks.peers.processes import Outcome, run_job

from fansrec.data.corpus import Corpus
from fansrec.evaluation.protocol import EvaluationLists, evaluation_lists

Row = dict[str, Any]
METRIC = "NDCG@5"
MEGABYTE = 1e6


@dataclass(frozen=True)
class Exchange:
    """The folder in which worker processes find the lists, and the lists that they are judged by."""

    folder: Path
    items: int
    valid: EvaluationLists
    test: EvaluationLists

    def job(self, peer: Peer, stage: str, candidates: list[Settings], timed: bool) -> dict[str, Any]:
        """Return the job of a stage: `valid` fits to the training lists, `test` to training and validation lists."""
        files = {"lists": f"fit-for-{stage}.npz", "inputs": f"inputs-{stage}.npz"}
        return {
            **{name: str(self.folder / file) for name, file in files.items()},
            "folder": str(self.folder / f"{peer.library}-{peer.model}-{stage}"),
            "module": peer.module,
            "model": peer.model,
            "items": self.items,
            "candidates": candidates,
            "timed": timed,
        }


def export(corpus: Corpus, folder: Path) -> Exchange:
    """Write the lists and inputs of both stages, and return where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    valid, test = evaluation_lists(corpus, "valid"), evaluation_lists(corpus, "test")
    training = [corpus.list(index) for index in corpus.part("train")]
    write_lists(folder / "fit-for-valid.npz", training)
    write_lists(folder / "fit-for-test.npz", training + [corpus.list(index) for index in corpus.part("valid")])
    write_lists(folder / "inputs-valid.npz", valid.inputs)
    write_lists(folder / "inputs-test.npz", test.inputs)
    return Exchange(folder.resolve(), len(corpus.vocabulary), valid, test)


@dataclass(frozen=True)
class Measurement:
    """How a model is measured: with which Python, within which time per process, and where progress is reported."""

    python: Path
    limit_s: float
    report: Callable[[str], None]
    ours: bool = False

    def row(self, peer: Peer, exchange: Exchange) -> Row:
        """Return the figures of a model, or its row with the reason why there are none."""
        row: Row = {"model": peer.title, "library": peer.library}
        try:
            settings, search_s, search_bytes = self.search(peer, exchange)
            job = exchange.job(peer, "test", [settings], timed=True)
            outcome = self.run(job)
            return row | figures(job, outcome, exchange.test, search_s, search_bytes)
        except (Failed, BadAnswers) as error:
            return row | {"failure": str(error)}

    def search(self, peer: Peer, exchange: Exchange) -> tuple[Settings, float, int]:
        """Return the best candidate on the validation lists, and the seconds and the memory of the search."""
        if len(peer.candidates) == 1:
            return peer.candidates[0], 0.0, 0
        job = exchange.job(peer, "valid", list(peer.candidates), timed=False)
        began = time.perf_counter()
        outcome = self.run(job)
        seconds = time.perf_counter() - began
        values = [judge(answers, exchange.valid)[METRIC] for answers in stored_answers(job, outcome)]
        for result, value in zip(outcome.results, values, strict=True):
            self.report(
                f"  {result['settings']}: {METRIC} {value:.4f} on the validation lists, {result['fit_s']:.1f} s"
            )
        best: Settings = outcome.results[int(np.argmax(values))]["settings"]
        return best, seconds, outcome.peak_bytes

    def run(self, job: dict[str, Any]) -> Outcome:
        """Run a job; raise Failed if it finished no candidate, and report if it did not finish all."""
        outcome = run_job(self.python, job, self.limit_s, self.ours)
        if not outcome.results:
            raise Failed(outcome.failure or "the process left no results")
        if outcome.failure:
            self.report(f"  {len(outcome.results)} of {len(job['candidates'])} candidates: {outcome.failure}")
        return outcome


class Failed(Exception):
    """A process that finished nothing; the message is the reason."""


def stored_answers(job: dict[str, Any], outcome: Outcome) -> list[np.ndarray]:
    """Return the answers of all candidates that are finished."""
    return [np.load(answers_file(Path(job["folder"]), number)) for number in range(len(outcome.results))]


def figures(job: dict[str, Any], outcome: Outcome, lists: EvaluationLists, search_s: float, search_bytes: int) -> Row:
    [answers], [result] = stored_answers(job, outcome), outcome.results
    return {
        "settings": result["settings"],
        "train_s": search_s + result["fit_s"],
        "fit_s": result["fit_s"],
        **judge(answers, lists),
        "ms_per_list": result["ms_per_list"],
        "lists_per_s": len(answers) / result["batch_s"],
        "peak_mb": max(search_bytes, outcome.peak_bytes) / MEGABYTE,
    }
