"""A trained model and a corpus -> one row of figures, plain enough for JSON."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fansrec.artifact import Artifact, read_artifact
from fansrec.data.corpus import Corpus, fingerprint
from fansrec.engine.backends import open_engine
from fansrec.engine.generation import way_of
from fansrec.engine.interface import Engine
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting
from fansrec.evaluation.beside import order_row, pair, variety_row
from fansrec.evaluation.bootstrap import interval
from fansrec.evaluation.order import Order, order
from fansrec.evaluation.protocol import (
    CUTS,
    LONGEST,
    Protocol,
    Questions,
    ask,
    judge,
    mean,
    questions,
    rules,
    wanted,
)
from fansrec.evaluation.shuffling import Shuffled, shuffled
from fansrec.models.registry import command_name

Row = dict[str, Any]
Progress = Callable[[int, int], None]  # lists done, lists in all

LISTS_AT_ONCE = 512  # between two words on the progress
TIMED_LISTS = 100
TIMED_SECONDS = 20
WARM_UP = 5


def open_run(folder: Path, corpus: Corpus, generation: str | None = None) -> Artifact:
    """A trained model, refused unless it was trained on this very corpus and generates as asked."""
    artifact = read_artifact(folder)
    if artifact.config.get("fingerprint") != fingerprint(corpus):
        raise BadSetting(f"{folder} was trained on another corpus; give --corpus the one it was trained on")
    way_of(artifact.model, generation)
    return artifact


@dataclass(frozen=True)
class Measured:
    """A row, and every list's part in it."""

    row: Row
    figures: dict[str, NDArray[np.float64]]  # (lists that count,) by metric
    order: Order
    shuffled: Shuffled
    asked: Questions


def evaluate_run(
    artifact: Artifact,
    corpus: Corpus,
    how: Protocol,
    part: str = "test",
    fill: str = Rules.fill,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
    generation: str | None = None,
    backend: str | None = None,
) -> Row:
    """Ask the model about every list of a part, and judge and time its answers."""
    return measure_run(artifact, corpus, how, part, fill, device, progress, generation, backend).row


def measure_run(
    artifact: Artifact,
    corpus: Corpus,
    how: Protocol,
    part: str = "test",
    fill: str = Rules.fill,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
    generation: str | None = None,
    backend: str | None = None,  # in full precision, unless told otherwise: on a GPU that is plain torch
) -> Measured:
    """The same, with the figures list by list."""
    began = time.perf_counter()
    asked = questions(corpus, part)
    if not asked.inputs:
        raise BadSetting(f"the corpus has no {part} lists; choose another --part")
    exact = "torch" if torch.device(device).type == "cuda" else "auto"
    engine = open_engine(artifact.model.to(device), len(corpus.vocabulary), device, generation, backend or exact)
    answers = _answers(engine, asked, how, fill, progress)
    latency = _latency(engine, asked, how, fill)
    figures = judge(answers, asked, how)
    ordered, mixed = order(answers, asked.targets), shuffled(answers, asked.targets)
    row = {
        **_names(artifact, engine.generation, how, part, fill),
        **_accuracy(figures),
        **order_row(ordered, mixed),
        **variety_row(answers, asked, corpus),
        "lists": len(asked.inputs),
        "short_answers": _short(answers, wanted(asked, how)),
        **latency,
        "device": str(engine.device),
        "backend": engine.backend,
        "seconds": round(time.perf_counter() - began, 3),
    }
    plain = {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}
    return Measured(plain, figures, ordered, mixed, asked)


def _names(artifact: Artifact, generation: str, how: Protocol, part: str, fill: str) -> Row:
    return {
        "run": artifact.folder.resolve().name,
        "model": command_name(artifact.config["model"]),
        "variant": str(artifact.config.get("variant", "")),
        "generation": generation,
        "protocol": how.name,
        "input": how.input,
        "masks": how.masks,
        "part": part,
        "fill": fill,
    }


def _answers(
    engine: Engine, asked: Questions, how: Protocol, fill: str, progress: Progress | None
) -> NDArray[np.int64]:
    """Asked in handfuls, so that a long evaluation can say how far it is; the answers are the same."""
    total, given = len(asked.inputs), []
    for first in range(0, total, LISTS_AT_ONCE):
        some = slice(first, first + LISTS_AT_ONCE)
        given.append(ask(engine, Questions(asked.inputs[some], asked.targets[some]), how, fill))
        if progress is not None:
            progress(min(some.stop, total), total)
    return np.concatenate(given)


def _latency(engine: Engine, asked: Questions, how: Protocol, fill: str) -> Row:
    """The mean time of one list asked alone; an answer is in numpy's hands at the end, so a GPU has finished it."""
    spread = np.linspace(0, len(asked.inputs) - 1, min(TIMED_LISTS, len(asked.inputs))).astype(int)
    mixed = np.random.default_rng(0).permutation(spread)  # a slow model is timed on fewer lists, of all lengths still
    counts, allowed = wanted(asked, how), rules(how, fill)
    seconds: list[float] = []
    for i in [*mixed[:WARM_UP], *mixed]:
        if len(seconds) > WARM_UP and sum(seconds) > TIMED_SECONDS:
            break
        began = time.perf_counter()
        engine.continue_lists([asked.inputs[i]], counts[i], allowed)
        seconds.append(time.perf_counter() - began)
    timed = seconds[min(WARM_UP, len(mixed)) :]
    return {"latency_ms": 1000 * sum(timed) / len(timed), "latency_lists": len(timed)}


def _accuracy(figures: dict[str, NDArray[np.float64]]) -> Row:
    row: Row = {name: mean(values) for name, values in figures.items()}
    row |= {f"lists@{n}": len(figures[f"HR@{n}"]) for n in CUTS}
    return row | {f"{name}_ci": pair(interval(values)) for name, values in figures.items()}


def _short(answers: NDArray[np.int64], counts: Sequence[int]) -> int:
    """How many answers have fewer items than were asked for: the rules left the model nothing more to give."""
    return int(((answers >= 0).sum(1) < np.minimum(counts, LONGEST)).sum())
