"""Train the network of the hybrid model: first to find the best epoch, then once more with the validation lists."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from fansrec.data.corpus import PARTS, Corpus
from fansrec.evaluation.protocol import EvaluationLists
from fansrec.models.hybrid.model import HybridFans
from fansrec.training import checkpoint
from fansrec.training.hybrid.given import disabled
from fansrec.training.hybrid.weight_search import FittedParts, MixtureValidation
from fansrec.training.interrupts import stop_signals
from fansrec.training.loop import Loop
from fansrec.training.plan import Plan, Row
from fansrec.training.process import keep_freed_memory
from fansrec.training.reporting import Reporter, format_duration
from fansrec.training.starting.weights import START, load_start

AGAIN = "again"  # the folder of the second training run, inside that of the first one's checkpoints


def train_network(
    plan: Plan, corpus: Corpus, out: Path, reporter: Reporter, fitted: FittedParts, lists: EvaluationLists
) -> tuple[HybridFans, list[Row], Row]:
    """Return the network of the epoch that is best for the mixture with the fitted parts, all epochs, its figures."""
    if disabled("network_weight", plan):
        reporter.message("network_weight is 0: the network is not trained")
        return _unused_network(plan), [], {}
    return _train(plan, corpus, out, reporter, fitted, lists, plan.training.epochs, _start(out))


def train_again(
    plan: Plan, corpus: Corpus, out: Path, reporter: Reporter, epochs: int, seconds: float | None = None
) -> HybridFans:
    """Return a network that is trained for `epochs` as the first one was, now with the validation lists too.

    `seconds` is what they took the first time. The validation lists have nothing left to decide, and the other parts
    of the mixture contain them as well.
    """
    about = "" if seconds is None else f", about {format_duration(seconds)}"
    reporter.message(f"training the network again, with the validation lists; epochs: {epochs}{about}")
    train, valid = (PARTS.index(part) for part in ("train", "valid"))
    everything = replace(corpus, parts=np.where(corpus.parts == valid, train, corpus.parts).astype(np.uint8))
    folder = out / checkpoint.FOLDER / AGAIN
    (folder / checkpoint.FOLDER).mkdir(parents=True, exist_ok=True)
    nothing = EvaluationLists([], [])
    return _train(plan, everything, folder, _WithoutEpochs(reporter), (None, None), nothing, epochs, _start(out))[0]


def _unused_network(plan: Plan) -> HybridFans:
    """Return a network of zeros; to it all orders of an answer are equal, so `--fill arranged` keeps the best first."""
    network: HybridFans = plan.build()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    return network


def _train(
    plan: Plan,
    corpus: Corpus,
    out: Path,
    reporter: Reporter,
    fitted: FittedParts,
    lists: EvaluationLists,
    epochs: int,
    start: Path,
) -> tuple[HybridFans, list[Row], Row]:
    torch.manual_seed(plan.training.seed)  # the same initial weights for the same seed
    network: HybridFans = plan.build()
    if plan.start is None:
        network.start(*corpus.flat("train"))
    else:
        load_start(network, start)
    keep_freed_memory()
    with stop_signals() as stopped:
        mixture = partial(MixtureValidation, plan, network, fitted, lists)
        return network, *Loop(plan, corpus, out, network, reporter, stopped, mixture).train(epochs)


def _start(out: Path) -> Path:
    """Return the file of the weights that a started run begins with."""
    return out / checkpoint.FOLDER / START


class _WithoutEpochs(Reporter):
    """Reports batches and messages, but no epochs: they have no validation figures."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter

    def start(self, epochs: int, batches: int) -> None:
        self._reporter.start(epochs, batches)

    def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None:
        self._reporter.batch(epoch, batch, loss, category_accuracy)

    def message(self, text: str) -> None:
        self._reporter.message(text)
