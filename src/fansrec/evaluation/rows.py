"""From a trained model and a corpus to one row of metrics that can be written as JSON."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fansrec.artifact import Artifact, read_artifact
from fansrec.data.corpus import Corpus, fingerprint
from fansrec.engine.backends import open_engine
from fansrec.engine.interface import Engine
from fansrec.engine.modes import generation_mode
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting
from fansrec.evaluation.bootstrap import mean_intervals
from fansrec.evaluation.controls import evaluation_rules, used_controls
from fansrec.evaluation.diversity import diversity_part, training_counts
from fansrec.evaluation.metrics import Floats
from fansrec.evaluation.order import OrderCounts, ShuffledCounts, count_order, count_shuffled, order_part
from fansrec.evaluation.protocol import (
    CUTOFFS,
    MAX_CUTOFF,
    EvaluationLists,
    Protocol,
    answer_counts,
    cutoff,
    evaluation_lists,
    list_metrics,
    mean,
    more_list_metrics,
    predict,
    shorten,
)
from fansrec.models.registry import command_name

Row = dict[str, Any]
Progress = Callable[[int, int], None]  # finished lists, all lists

LISTS_AT_ONCE = 512  # between two reports of progress
TIMED_LISTS = 100
TIMED_SECONDS = 20
WARM_UP = 5


def open_run(folder: Path, corpus: Corpus, generation: str | None = None) -> Artifact:
    """Read a trained model; raise BadSetting if it was trained on another corpus or cannot generate as requested."""
    artifact = read_artifact(folder)
    if artifact.config.get("fingerprint") != fingerprint(corpus):
        raise BadSetting(f"{folder} was trained on another corpus; give --corpus the one it was trained on")
    generation_mode(artifact.stored, generation)
    return artifact


def with_items_of(artifact: Artifact, corpus: Corpus) -> Corpus:
    """Return the training corpus with the items of a model, which has others at other indices after an update."""
    own = artifact.vocabulary
    if len(own) == len(corpus.vocabulary):
        return corpus
    places = {id_: index for index, id_ in enumerate(own.ids)}
    indices = np.array([places[id_] for id_ in corpus.vocabulary.ids], dtype=np.int32)
    return replace(corpus, items=indices[corpus.items], vocabulary=own)


@dataclass(frozen=True)
class Measured:
    """A row, and what each list contributes to it."""

    row: Row
    metrics: dict[str, Floats]  # (lists that count,) by metric
    order: OrderCounts
    shuffled: ShuffledCounts
    lists: EvaluationLists
    answers: NDArray[np.int64]  # (lists, 10 or the last position that a metric looks at)


def measure_run(
    artifact: Artifact,
    corpus: Corpus,
    protocol: Protocol,
    part: str = "test",
    fill: str = Rules.fill,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
    generation: str | None = None,
    backend: str | None = None,  # default: full precision, which on a GPU is plain torch
    timed: bool = True,
    at: Sequence[int] = CUTOFFS,
    controls: Mapping[str, float] | None = None,  # diversity, popularity, freshness
) -> Measured:
    """Continue every list of a part, and score and time the answers.

    The metrics are those at 5, at 10 and `at` other positions, for which `protocol` must request enough items.
    """
    started = time.perf_counter()
    corpus = with_items_of(artifact, corpus)
    lists = evaluation_lists(corpus, part)
    if not lists.inputs:
        raise BadSetting(f"the corpus has no {part} lists; choose another --part")
    if protocol.given is not None:
        lists = shorten(lists, protocol.given)
    rules = evaluation_rules(artifact, protocol, fill, controls)
    shown, at = sorted({*at}), sorted({*CUTOFFS, *at})
    exact = "torch" if torch.device(device).type == "cuda" else "auto"
    engine = open_engine(artifact.stored, len(corpus.vocabulary), device, generation, backend or exact)
    answers = _predict(engine, lists, protocol, rules, at[-1], progress)
    latency = _latency(engine, lists, protocol, rules) if timed else {"latency_ms": None, "latency_lists": 0}
    shares = training_counts(corpus) / max(1, len(corpus.part("train")))
    metrics = list_metrics(answers, lists, protocol, at) | more_list_metrics(answers, lists, protocol, at, shares)
    first = answers[:, :MAX_CUTOFF]
    order, shuffled = count_order(first, lists.targets), count_shuffled(first, lists.targets)
    row = {
        **_names(artifact, engine.generation, protocol, part, fill),
        "controls": used_controls(controls),
        "at": shown,
        **_accuracy(metrics, at),
        **order_part(order, shuffled),
        **diversity_part(first, lists, corpus.vocabulary, shares),
        "lists": len(lists.inputs),
        "short_answers": _short_answers(answers, answer_counts(lists, protocol)),
        **latency,
        "device": str(engine.device),
        "backend": engine.backend,
        "seconds": round(time.perf_counter() - started, 3),
    }
    row = {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}
    return Measured(row, metrics, order, shuffled, lists, answers)


def _names(artifact: Artifact, generation: str, protocol: Protocol, part: str, fill: str) -> Row:
    return {
        "run": artifact.folder.resolve().name,
        "model": command_name(artifact.config["model"]),
        "variant": str(artifact.config.get("variant", "")),
        "generation": generation,
        "protocol": protocol.name,
        "input": protocol.input,
        "masks": protocol.masks,
        "given": protocol.given,
        "part": part,
        "fill": fill,
    }


def _predict(
    engine: Engine, lists: EvaluationLists, protocol: Protocol, rules: Rules, most: int, progress: Progress | None
) -> NDArray[np.int64]:
    """Return the answers of `predict`, batch by batch so that a long evaluation can report its progress."""
    total, answers = len(lists.inputs), []
    for first in range(0, total, LISTS_AT_ONCE):
        batch = slice(first, first + LISTS_AT_ONCE)
        own = EvaluationLists(lists.inputs[batch], lists.targets[batch])
        answers.append(predict(engine, own, protocol, rules, most))
        if progress is not None:
            progress(min(batch.stop, total), total)
    return np.concatenate(answers)


def _latency(engine: Engine, lists: EvaluationLists, protocol: Protocol, rules: Rules) -> Row:
    """Return the mean time of a call with one list; the answer is a numpy array, so a GPU has finished it."""
    spaced = np.linspace(0, len(lists.inputs) - 1, min(TIMED_LISTS, len(lists.inputs))).astype(int)
    order = np.random.default_rng(0).permutation(spaced)  # so that fewer lists of a slow model still have all lengths
    counts = answer_counts(lists, protocol)
    seconds: list[float] = []
    for i in [*order[:WARM_UP], *order]:
        if len(seconds) > WARM_UP and sum(seconds) > TIMED_SECONDS:
            break
        started = time.perf_counter()
        engine.continue_lists([lists.inputs[i]], counts[i], rules)
        seconds.append(time.perf_counter() - started)
    timed = seconds[min(WARM_UP, len(order)) :]
    return {"latency_ms": 1000 * sum(timed) / len(timed), "latency_lists": len(timed)}


def _accuracy(metrics: Mapping[str, Floats], at: Sequence[int]) -> Row:
    """Return mean and interval of every metric, and the numbers of lists that count."""
    row: Row = {name: mean(values) for name, values in metrics.items()}
    row |= {f"lists@{n}": len(metrics[f"HR@{n}"]) for n in at}
    for n in at:  # the same lists count for all metrics at n
        own = {name: values for name, values in metrics.items() if cutoff(name) == n}
        row |= {f"{name}_ci": bounds for name, bounds in zip(own, mean_intervals([*own.values()]), strict=True)}
    return row


def _short_answers(answers: NDArray[np.int64], counts: Sequence[int]) -> int:
    """Return how many answers have fewer items than requested: the rules left the model no more."""
    return int(((answers >= 0).sum(1) < np.minimum(counts, answers.shape[1])).sum())
