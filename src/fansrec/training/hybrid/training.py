"""Train the hybrid model: search its closed-form parts, train its network, search the weights, fit all again.

The parts are searched first, because the network is evaluated by what it adds to them. Everything is chosen by lists
that the chosen part was not fitted to. At the end all parts are fitted once more, with the validation lists, which have
nothing left to decide.
"""

from dataclasses import asdict, replace
from pathlib import Path

from accelerate import PartialState
from accelerate.utils import broadcast_object_list

from fansrec.data.corpus import Corpus, FlatLists
from fansrec.evaluation.protocol import evaluation_lists
from fansrec.models.config import with_settings
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.models.registry import configured, entry
from fansrec.training.hybrid.coordinate_search import Values
from fansrec.training.hybrid.given import disabled
from fansrec.training.hybrid.held_out import lists_in_memory
from fansrec.training.hybrid.linear_search import CANDIDATES, Parts, fit_linear
from fansrec.training.hybrid.network import train_again, train_network
from fansrec.training.hybrid.part_search import find_parts, order_matters
from fansrec.training.hybrid.weight_search import FittedParts, search_weights
from fansrec.training.plan import Plan, Row, Trained
from fansrec.training.reporting import NULL_REPORTER, Reporter, format_values

SHUFFLED_SHARE = 0.5  # of the training lists, where order does not matter


def train_hybrid(plan: Plan, corpus: Corpus, out: Path, reporter: Reporter) -> Trained:
    """Return the trained model; only the main process of several gets all parts of it."""
    main = PartialState().is_main_process
    reporter = reporter if main else NULL_REPORTER
    if plan.start is None:
        parts = find_parts(plan, corpus, reporter)
        plan = with_found(plan, parts.settings | shuffling(plan, parts))
    else:
        parts = parts_of_start(plan)
    fitted = fit_parts(parts, corpus.flat("train"), plan)
    most = min(plan.training.validation_lists, lists_in_memory(len(corpus.vocabulary)))
    lists = evaluation_lists(corpus, "valid", most)
    network, history, figures = train_network(plan, corpus, out, reporter, fitted, lists)
    weights, found, tried = search_weights(plan, network.eval(), fitted, lists) if main else ({}, {}, [])
    mixed = with_found(plan, weights)
    linear = _linear_model(parts, mixed)
    reporter.message(_found_message(parts.settings | weights, linear))
    (counts,) = broadcast_object_list([weights.get("network_weight", 0) > 0])
    if history and lists.inputs and counts:  # all processes train again, or none
        seconds = sum(row["seconds"] for row in history[: figures["epoch"]])
        network = train_again(plan, corpus, out, reporter, figures["epoch"], seconds)
    if not main:
        return Trained(plan, network, figures, history)
    whole = network.with_parts(configured(entry(plan.model), mixed.config), *_fit_again(parts, corpus, mixed))
    return Trained(mixed.of(whole), whole, figures | found, history, parts.tried + tried, linear)


def parts_of_start(plan: Plan) -> Parts:
    """Return the parts with the settings of the model that training started from, which are in the plan: no search."""
    assert plan.start is not None
    linear = plan.start["linear_model"]
    if linear is None:
        return Parts(linear=CANDIDATES[0] if plan.settings["linear_weight"] else None)
    return Parts(linear=(linear["model"], linear["settings"]))


def shuffling(plan: Plan, parts: Parts) -> Values:
    """Return the share of the lists to read in random order: none if their order matters, or the user gave another."""
    given = "shuffled_share" in plan.given or order_matters(parts)
    return {} if given else {"shuffled_share": SHUFFLED_SHARE}


def _linear_model(parts: Parts, plan: Plan) -> Row | None:
    """Return the name and the settings of the linear model, or None if it has no weight."""
    if parts.linear is None or not plan.settings["linear_weight"]:
        return None
    model, settings = parts.linear
    return {"model": model, "settings": settings}


def _found_message(settings: Values, linear: Row | None) -> str:
    of_linear = "" if linear is None else f"; linear part: {linear['model']}, {format_values(linear['settings'])}"
    return f"found: {format_values(settings)}{of_linear}"


def _fit_again(parts: Parts, corpus: Corpus, plan: Plan) -> FittedParts:
    """Return the parts of the training and validation lists.

    A memory to which the search gave no weight is kept, since an update needs the lists (updating/); only a weight of 0
    that the user gave leaves it out.
    """
    lists = corpus.flat("train", "valid")
    memory, linear = fit_parts(replace(parts, fitted=None), lists, plan)
    if memory is None and not disabled("memory_weight", plan):
        memory = ListMemory.of(plan.config["category_starts"][-1], *lists)
    return memory, linear


def with_found(plan: Plan, settings: dict[str, float]) -> Plan:
    """Return the plan with settings that a search found."""
    config = with_settings(configured(entry(plan.model), plan.config), settings)
    return replace(plan, config=asdict(config))


def fit_parts(parts: Parts, lists: FlatLists, plan: Plan) -> FittedParts:
    """Return memory and linear part of these lists; None for a part without a weight."""
    settings, vocabulary = plan.settings, plan.config["category_starts"][-1]
    memory = ListMemory.of(vocabulary, *lists) if settings["memory_weight"] else None
    linear = None
    if parts.linear is not None and settings["linear_weight"]:
        linear = parts.fitted or fit_linear(parts.linear, lists, plan)
    return memory, linear
