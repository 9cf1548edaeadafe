"""Training from a corpus to an artifact."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import PartialState

from fansrec.artifact import MANIFEST, write_artifact
from fansrec.data.corpus import Corpus, read_corpus
from fansrec.errors import BadSetting, Unfinished
from fansrec.files import new_folder, refuse_existing, told, write_json
from fansrec.training import checkpoint
from fansrec.training.card import model_card
from fansrec.training.interrupts import stop_signals
from fansrec.training.loop import Loop, check_precision, no_accelerator
from fansrec.training.memory import keep_freed_memory
from fansrec.training.plan import Plan, make_plan, saved_plan
from fansrec.training.reporting import Reporter, Silence

History = list[dict[str, Any]]
Draw = Callable[[History, Path], None]


SILENCE = Silence()


def train(
    corpus_folder: str | Path,
    out: str | Path,
    model: str | None = None,
    values: Mapping[str, Any] | None = None,
    reporter: Reporter = SILENCE,
    resume: bool = False,
    draw: Draw | None = None,
) -> Plan:
    """Train `model` (fans, unless told otherwise) with these settings and leave an artifact in `out`.

    `draw` plots the figures of all epochs into the folder.
    """
    corpus, out = read_corpus(Path(corpus_folder)), Path(out)
    if resume and (out / MANIFEST).is_file():
        shutil.rmtree(out / checkpoint.FOLDER, ignore_errors=True)  # left by a kill at the very last moment
        raise BadSetting(f"{out} is a finished model; there is nothing to resume")
    plan = _begin(corpus, out, model, values or {}, resume)
    torch.manual_seed(plan.training.seed)  # the same starting weights for the same seed
    network = plan.build()
    try:
        history, figures = _fit(plan, corpus, out, network, reporter)
        if PartialState().is_main_process:
            _finish(plan, corpus, out, network, history, figures, draw)
    except OSError as error:
        raise Unfinished(f"training broke off ({told(error)}); mend that and go on with --resume") from error
    return plan


def _fit(plan: Plan, corpus: Corpus, out: Path, network: Any, reporter: Reporter) -> tuple[History, dict[str, Any]]:
    """Train in place; gives the figures of every epoch and the best ones."""
    if hasattr(network, "fit"):
        network.fit(*_training_lists(corpus))
        return [], {}
    keep_freed_memory()
    with stop_signals() as stopped:
        return Loop(plan, corpus, out, network, reporter, stopped).train()


def _finish(
    plan: Plan, corpus: Corpus, out: Path, network: Any, history: History, figures: dict[str, Any], draw: Draw | None
) -> None:
    """The artifact, sealed; only then is the state of the training not needed any more."""
    if draw is not None and history:
        draw(history, out)
    config = {**plan.plain(), "variant": plan.variant, "validation": figures, "corpus": corpus.summary}
    write_artifact(out, network, corpus.vocabulary, config, model_card(plan, corpus.summary, figures))
    shutil.rmtree(out / checkpoint.FOLDER, ignore_errors=True)


def _begin(corpus: Corpus, out: Path, model: str | None, values: Mapping[str, Any], resume: bool) -> Plan:
    """The plan: a new one written down, or the one of the run to go on with."""
    folder = out / checkpoint.FOLDER
    processes = PartialState(cpu=no_accelerator())  # several may begin together: the first one writes
    if resume:
        if not (folder / checkpoint.PLAN).is_file():
            raise BadSetting(f"{out} holds no interrupted training; start one without --resume")
        return saved_plan(folder / checkpoint.PLAN, model, values, corpus)
    plan = make_plan(model or "fans", values, corpus)
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


def _training_lists(corpus: Corpus) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    lists = [corpus.list(i) for i in corpus.part("train")]
    return np.concatenate(lists), np.concatenate([[0], np.cumsum([len(items) for items in lists])])
