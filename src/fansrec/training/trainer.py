"""Training from a corpus to an artifact."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import PartialState

from fansrec.artifact import MANIFEST, write_artifact
from fansrec.data.corpus import Corpus, read_corpus
from fansrec.errors import BadSetting, Interrupted, Unfinished
from fansrec.files import new_folder, refuse_existing, told, write_json
from fansrec.models.hybrid.model import HybridFans
from fansrec.models.registry import entry
from fansrec.training import checkpoint
from fansrec.training.card import model_card
from fansrec.training.hybrid import comparison
from fansrec.training.hybrid.comparison import Comparison
from fansrec.training.hybrid.weight_search import complete_hybrid
from fansrec.training.interrupts import stop_signals
from fansrec.training.logs import write_metrics
from fansrec.training.loop import Loop, check_precision, no_accelerator
from fansrec.training.memory import keep_freed_memory
from fansrec.training.plan import Plan, make_plan, saved_plan
from fansrec.training.reporting import Reporter, Silence
from fansrec.training.search import Lists, refuse_searched, search

History = list[dict[str, Any]]
Draw = Callable[[History, Path], None]


SILENCE = Silence()


@dataclass(frozen=True)
class Trained:
    """What training made of a plan; a search settles the plan's last values."""

    plan: Plan
    network: Any
    figures: dict[str, Any] = field(default_factory=dict)  # of the kept weights, on the validation lists
    history: History = field(default_factory=list)  # a row an epoch
    tried: History = field(default_factory=list)  # a row a candidate of a search
    comparison: Comparison | None = None  # with models that need no training to speak of


def train(
    corpus_folder: str | Path,
    out: str | Path,
    model: str | None = None,
    values: Mapping[str, Any] | None = None,
    reporter: Reporter = SILENCE,
    resume: bool = False,
    draw: Draw | None = None,
    compare: bool = False,
) -> Plan:
    """Train `model` (fans, unless told otherwise) with these settings and leave an artifact in `out`.

    `draw` plots the figures of all epochs into the folder. `compare`: where `--recipe best` has a network of its own,
    set it beside popularity, item-kNN and EASE, and say which is better.
    """
    corpus, out = read_corpus(Path(corpus_folder)), Path(out)
    plan = begin(corpus, out, model, values or {}, resume)
    try:
        closed_form = hasattr(entry(plan.model).model, "fit")
        trained = _fit(plan, corpus, reporter) if closed_form else _loop(plan, corpus, out, reporter)
        if PartialState().is_main_process:
            if isinstance(trained.network, HybridFans):
                trained = _completed(trained, corpus, reporter, compare)
            _finish(trained, corpus, out, draw)
            if trained.comparison is not None:
                comparison.report(trained.comparison, Path(corpus_folder), out, reporter)
    except KeyboardInterrupt:
        raise Interrupted("stopped; go on with the same command and --resume") from None
    except OSError as error:
        raise Unfinished(f"training broke off ({told(error)}); mend that and go on with --resume") from error
    return trained.plan


def _loop(plan: Plan, corpus: Corpus, out: Path, reporter: Reporter) -> Trained:
    """Train by gradient."""
    torch.manual_seed(plan.training.seed)  # the same starting weights for the same seed
    network = plan.build()
    if hasattr(network, "start"):
        network.start(*_training_lists(corpus))
    keep_freed_memory()
    with stop_signals() as stopped:
        history, figures = Loop(plan, corpus, out, network, reporter, stopped).train()
    return Trained(plan, network, figures, history)


def _fit(plan: Plan, corpus: Corpus, reporter: Reporter) -> Trained:
    """Train in closed form, looking at all lists at once."""
    reporter = reporter if PartialState().is_main_process else SILENCE
    reporter.say(f"fitting {plan.variant} to {len(corpus.part('train')):,} lists")
    if plan.training.recipe == "best":
        found = search(plan, corpus, _training_lists(corpus), reporter)
        return Trained(found.plan, found.network, found.figures, tried=found.tried)
    torch.manual_seed(plan.training.seed)
    network = plan.build()
    network.fit(*_training_lists(corpus))
    return Trained(plan, network)


def _completed(trained: Trained, corpus: Corpus, reporter: Reporter, compare: bool) -> Trained:
    """Return the hybrid model with all its parts and, if `compare` is set, the comparison with other models."""
    lists = _training_lists(corpus)
    made = complete_hybrid(trained.plan, trained.network, corpus, lists, reporter)
    compared = comparison.compare(made.plan, made.network, corpus, lists, reporter) if compare else None
    return replace(trained, **vars(made), comparison=compared)


def _finish(trained: Trained, corpus: Corpus, out: Path, draw: Draw | None) -> None:
    """The artifact, sealed; only then is the state of the training not needed any more."""
    plan, figures = trained.plan, trained.figures
    if draw is not None and trained.history:
        draw(trained.history, out)
    config = {**plan.plain(), "variant": plan.variant, "validation": figures, "corpus": corpus.summary}
    if trained.tried:
        if not trained.history:
            write_metrics(out, trained.tried)
        config["search"] = trained.tried
    if trained.comparison is not None:
        config["comparison"] = trained.comparison
    card = model_card(plan, corpus.summary, figures, trained.comparison)
    write_artifact(out, trained.network, corpus.vocabulary, config, card)
    shutil.rmtree(out / checkpoint.FOLDER, ignore_errors=True)


def begin(corpus: Corpus, out: Path, model: str | None, values: Mapping[str, Any], resume: bool) -> Plan:
    """The plan: a new one written down, or the one of the run to go on with."""
    folder = out / checkpoint.FOLDER
    if resume and (out / MANIFEST).is_file():
        shutil.rmtree(folder, ignore_errors=True)  # left by a kill at the very last moment
        raise BadSetting(f"{out} is a finished model; there is nothing to resume")
    processes = PartialState(cpu=no_accelerator())  # several may begin together: the first one writes
    if resume:
        if not (folder / checkpoint.PLAN).is_file():
            raise BadSetting(f"{out} holds no interrupted training; start one without --resume")
        plan = saved_plan(folder / checkpoint.PLAN, model, values, corpus)
        refuse_searched(plan, values)
        return plan
    plan = make_plan(model or "fans", values, corpus)
    refuse_searched(plan, values)
    check_precision(plan.training.precision)
    if (folder / checkpoint.PLAN).is_file() and processes.is_main_process:
        raise BadSetting(f"{out} holds an interrupted training; go on with --resume, or remove it first")
    if processes.is_main_process:
        refuse_existing(out, "the model")
        try:
            with new_folder(out) as new:  # with its plan from the first moment, so that it can always be resumed
                (new / checkpoint.FOLDER).mkdir()
                write_json(new / checkpoint.FOLDER / checkpoint.PLAN, plan.plain())
        except OSError as error:
            raise BadSetting(f"{out} cannot be written ({told(error)}); choose another place") from error
    processes.wait_for_everyone()
    return plan


def _training_lists(corpus: Corpus) -> Lists:
    lists = [corpus.list(i) for i in corpus.part("train")]
    return np.concatenate(lists), np.concatenate([[0], np.cumsum([len(items) for items in lists])])
