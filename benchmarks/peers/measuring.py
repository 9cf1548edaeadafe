"""Measure one model: choose its settings on the validation lists, fit it with all lists, answer the test lists."""

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
class Search:
    """The settings that were best on the validation lists, and what finding them took."""

    settings: Settings
    seconds: float = 0.0
    peak_bytes: int = 0
    tried: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Measurement:
    """How a model is measured: with which Python, within which time for a search, and where progress is reported."""

    python: Path
    limit_s: float
    report: Callable[[str], None]
    ours: bool = False

    def row(self, peer: Peer, exchange: Exchange) -> Row:
        """Return the figures of a model, or its row with the reason why there are none."""
        row: Row = {"model": peer.title, "library": peer.library}
        try:
            search = self.search(peer, exchange)
            job = exchange.job(peer, "test", [search.settings], timed=True)
            outcome = self.run(job, 2 * self.limit_s)  # more lists than in the search, and on a busy machine
            return row | figures(job, outcome, exchange.test, search)
        except (Failed, BadAnswers) as error:
            return row | {"failure": str(error)}

    def search(self, peer: Peer, exchange: Exchange) -> Search:
        """Try all candidates on the validation lists; those that were not finished in time do not count."""
        if len(peer.candidates) == 1:
            return Search(peer.candidates[0])
        job = exchange.job(peer, "valid", list(peer.candidates), timed=False)
        outcome = self.run(job, self.limit_s)
        values = [judge(answers, exchange.valid)[METRIC] for answers in stored_answers(job, outcome)]
        tried = tuple(result | {METRIC: value} for result, value in zip(outcome.results, values, strict=True))
        for one in tried:
            self.report(f"  {one['settings']}: {METRIC} {one[METRIC]:.4f} on the validation lists")
        seconds = sum(one["fit_s"] + one["batch_s"] for one in tried)
        return Search(tried[int(np.argmax(values))]["settings"], seconds, outcome.peak_bytes, tried)

    def run(self, job: dict[str, Any], limit_s: float) -> Outcome:
        """Run a job; raise Failed if it finished no candidate, and report if it did not finish all."""
        outcome = run_job(self.python, job, limit_s, self.ours)
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


def figures(job: dict[str, Any], outcome: Outcome, lists: EvaluationLists, search: Search) -> Row:
    """Return the row of a job of one candidate: metrics on `lists`, times and memory, those of the search included."""
    [answers], [result] = stored_answers(job, outcome), outcome.results
    return {
        "settings": result["settings"],
        "train_s": search.seconds + result["fit_s"],
        "fit_s": result["fit_s"],
        **judge(answers, lists),
        "ms_per_list": result["ms_per_list"],
        "lists_per_s": len(answers) / result["batch_s"],
        "peak_mb": max(search.peak_bytes, outcome.peak_bytes) / MEGABYTE,
        "tried": search.tried,
    }
