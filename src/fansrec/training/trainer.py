"""Training from a corpus to an artifact."""

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import PartialState

from fansrec.artifact import write_artifact
from fansrec.data.corpus import PARTS, Corpus, read_corpus
from fansrec.errors import Interrupted, Unfinished, missing_extras
from fansrec.files import format_os_error
from fansrec.models.hybrid.model import HybridFans
from fansrec.models.linear.popularity import list_counts
from fansrec.models.registry import entry
from fansrec.training import checkpoint
from fansrec.training.begin import begin
from fansrec.training.devices import training_device
from fansrec.training.grid_search import search
from fansrec.training.hybrid import comparison
from fansrec.training.hybrid.training import train_hybrid
from fansrec.training.interrupts import stop_signals
from fansrec.training.loop import Loop
from fansrec.training.model_card import model_card
from fansrec.training.plan import Plan, Row, Trained
from fansrec.training.process import keep_freed_memory
from fansrec.training.reporting import (
    NULL_REPORTER,
    Callback,
    Reporter,
    default_reporter,
    with_callbacks,
    write_metrics,
)
from fansrec.training.starting.weights import START, load_start
from fansrec.training.tracking import Track, Tracking
from fansrec.vocabulary import ListNames

Draw = Callable[[list[Row], Path], None]


@missing_extras()
def train(
    corpus: str | Path,
    out: str | Path,
    model: str | None = None,
    values: Mapping[str, Any] | None = None,
    reporter: Reporter | None = None,
    resume: bool = False,
    draw: Draw | None = None,
    compare: bool = True,
    recipe: str = "best",
    callbacks: Sequence[Callback] = (),
    search_seconds: float | None = None,
    force: bool = False,
    device: str | None = None,
    start: str | Path | None = None,
    track: Track = (),
) -> Plan:
    """Train a model on a corpus and write it to a folder.

    Args:
        corpus: The corpus folder.
        out: Folder of the model.
        model: fans (the default), a baseline such as slist or vstan, or a model of another package.
        values: Settings by name, as those of `fans train --set`.
        reporter: Shows the progress; by default in a terminal and in a notebook.
        resume: Continue an interrupted run in `out`, with the recipe it was started with.
        draw: Plots the figures of all epochs into the folder.
        compare: Whether a model of the recipe best with a network of its own is compared with popularity, item-kNN,
            EASE, SLIST and V-STAN on the test lists, with a recommendation.
        recipe: best or paper, unless `values` name another; models without a recipe best use paper.
        callbacks: Functions that are called with an `Epoch` after every epoch.
        search_seconds: Longest search of the settings of models in closed form, with the recipe best.
        force: Replace a model or an interrupted run in `out`.
        device: Device to train on: cpu, cuda or cuda:1; by default a GPU if there is one.
        start: Folder of a trained model: training continues from its weights with its settings, in fewer epochs and
            without the searches and the comparison.
        track: Names of experiment trackers, mlflow or wandb, or objects with the methods of
            `fansrec.training.tracking.Tracker`.

    Returns:
        What was trained: the model with all of its settings, those that were found included.

    Raises:
        FansError: For anything that is refused; the message names the parameter.

    Examples:
        >>> import fansrec
        >>> plan = fansrec.train("corpora/mine", "runs/slist", "slist", recipe="paper")
        >>> plan.model
        'slist'
        >>> model = fansrec.load("runs/slist")
    """
    lists, out, started = read_corpus(Path(corpus)), Path(out), time.monotonic()
    reporter = Tracking(with_callbacks(default_reporter() if reporter is None else reporter, callbacks), track)
    with training_device(device):
        plan = begin(lists, out, model, values or {}, resume, recipe, force, start)
        main = PartialState().is_main_process
        try:
            if main:
                reporter.open(out, plan.tracked)
            trained = _way_to_train(plan, search_seconds)(plan, lists, out, reporter)
            reporter.close(trained.figures, finished=True)
            if main:
                if isinstance(trained.network, HybridFans) and compare and plan.start is None:
                    seconds = comparison.search_seconds(time.monotonic() - started)
                    compared = comparison.compare(trained.plan, trained.network, lists, reporter, seconds)
                    trained = replace(trained, comparison=compared)
                finish(trained, lists, out, draw)
                if trained.comparison is not None:
                    comparison.report(trained.comparison, Path(corpus), out, reporter)
        except KeyboardInterrupt:
            raise Interrupted("stopped; continue with the same command and --resume") from None
        except OSError as error:
            raise Unfinished(
                f"training failed ({format_os_error(error)}); correct that and continue with --resume"
            ) from error
        finally:
            reporter.close({}, finished=False)
    return trained.plan


def _way_to_train(plan: Plan, search_seconds: float | None) -> Callable[[Plan, Corpus, Path, Reporter], Trained]:
    model = entry(plan.model).model
    if issubclass(model, HybridFans):
        return train_hybrid
    return partial(_train_in_closed_form, search_seconds) if hasattr(model, "fit") else _train_by_gradient


def _train_by_gradient(plan: Plan, corpus: Corpus, out: Path, reporter: Reporter) -> Trained:
    torch.manual_seed(plan.training.seed)  # the same initial weights for the same seed
    network = plan.build()
    if plan.start is not None:
        load_start(network, out / checkpoint.FOLDER / START)
    keep_freed_memory()
    with stop_signals() as stopped:
        history, figures = Loop(plan, corpus, out, network, reporter, stopped).train()
    return Trained(plan, network, figures, history)


def _train_in_closed_form(
    search_seconds: float | None, plan: Plan, corpus: Corpus, _: Path, reporter: Reporter
) -> Trained:
    """Fit the model to all lists at once."""
    reporter = reporter if PartialState().is_main_process else NULL_REPORTER
    reporter.message(f"fitting {plan.variant} to {len(corpus.part('train')):,} lists")
    if plan.training.recipe == "best":
        return search(plan, corpus, corpus.flat("train"), reporter, search_seconds)
    torch.manual_seed(plan.training.seed)
    network = plan.build()
    network.fit(*corpus.flat("train"))
    return Trained(plan.of(network), network)


def finish(trained: Trained, corpus: Corpus, out: Path, draw: Draw | None = None) -> None:
    """Write the artifact, then remove the checkpoint."""
    plan = trained.plan
    if draw is not None and trained.history:
        draw(trained.history, out)
    config = {**plan.plain(), "variant": plan.variant, "validation": trained.figures, "corpus": corpus.summary}
    if trained.tried:
        if not trained.history:
            write_metrics(out, trained.tried)
        config["search"] = trained.tried
    if trained.linear is not None:
        config["linear_model"] = trained.linear
    if trained.comparison is not None:
        config["comparison"] = trained.comparison
    card = model_card(trained, corpus.summary)
    counts = list_counts(*corpus.flat("train"), len(corpus.vocabulary))
    names = remembered_names(trained.network, corpus)
    write_artifact(out, trained.network, corpus.vocabulary, config, card, counts, names)
    shutil.rmtree(out / checkpoint.FOLDER, ignore_errors=True)


def remembered_names(network: Any, corpus: Corpus) -> ListNames | None:
    """Return the names of the lists in the memory of a model: the training lists, or the validation lists too."""
    memory = getattr(network, "memory", None)
    if memory is None or corpus.list_names is None:
        return None
    for parts in (("train",), ("train", "valid")):
        chosen = np.isin(corpus.parts, [PARTS.index(part) for part in parts])
        if np.count_nonzero(chosen) == len(memory):
            return corpus.list_names.select(chosen)
    return None
