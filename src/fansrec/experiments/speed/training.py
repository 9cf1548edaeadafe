"""Time and peak memory of training, each measured in a process of its own."""

import multiprocessing
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import torch

from fansrec.experiments.speed.workloads import WORKLOADS, make_corpus
from fansrec.models.alphabet import SPECIALS
from fansrec.models.fans import Fans, FansConfig
from fansrec.training.batches import BatchBuilder, epoch_plan
from fansrec.training.masking import MaskingRates
from fansrec.training.process import keep_freed_memory

WARM_UP = 3  # batches
EPOCH_BATCHES = {"aotm": 41}  # an epoch of these workloads is short enough to be measured completely
FEW_BATCHES = 4


def training(
    workloads: Sequence[str],
    categories: int,
    batch_size: int,
    batches: int | None,
    progress: Callable[[int, int], None],
) -> list[dict[str, Any]]:
    """Return a row per workload and classifier, each measured in a fresh process with its own peak memory."""
    rows = []
    for name, classifier in product(workloads, ("vanilla", "two-stage")):
        count = batches or EPOCH_BATCHES.get(name, FEW_BATCHES)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            rows.append(pool.apply(_measure, (name, classifier, categories, batch_size, count)))
        progress(len(rows), 2 * len(workloads))
    return rows


def _measure(name: str, classifier: str, categories: int, batch_size: int, batches: int) -> dict[str, Any]:
    keep_freed_memory()  # as training does
    workload = replace(WORKLOADS[name], categories=categories)
    corpus = make_corpus(workload, np.random.default_rng(0))
    config = FansConfig(
        tuple(corpus.vocabulary.starts.tolist()), int(corpus.lengths.max()) + SPECIALS, classifier=classifier
    )
    torch.manual_seed(0)
    model = Fans(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    builder = BatchBuilder(corpus, config.alphabet, MaskingRates())
    before = _peak_gb()
    plan = epoch_plan(corpus.part("train"), batch_size, [0])
    seconds = []
    for number, lists in enumerate(plan[: WARM_UP + batches]):
        started = time.perf_counter()
        model(builder.build(lists, 1.0, [0, number])).total.backward()
        optimizer.step()
        optimizer.zero_grad()
        seconds.append(time.perf_counter() - started)
    step = float(np.mean(seconds[WARM_UP:] or seconds))
    return {
        "arm": "ours",
        "model": "fans",
        "workload": name,
        "classifier": classifier,
        "device": "cpu",
        "batch": batch_size,
        "items": workload.items,
        "categories": categories,
        "lists": len(corpus.part("train")),
        "batches": len(seconds),
        "step_s": step,
        "epoch_s": step * len(plan),
        "lists_per_s": batch_size / step,
        "peak_gb": _peak_gb(),
        "peak_gb_before_training": before,
    }


def _peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
