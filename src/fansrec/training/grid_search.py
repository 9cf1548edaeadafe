"""Grid search, the best recipe of models in closed form: fit every candidate, keep the best on validation lists."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, product
from typing import Any

import numpy as np

from fansrec.data.corpus import Corpus, FlatLists
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadSetting
from fansrec.evaluation.protocol import EvaluationLists, evaluation_lists, list_metrics, mean, predict, protocol
from fansrec.models.registry import entry
from fansrec.training.plan import Plan, Row, Trained
from fansrec.training.reporting import Reporter

PROTOCOL = protocol("standard")  # what users get: ten items, none of them in the input


def search(plan: Plan, corpus: Corpus, lists: FlatLists, reporter: Reporter, seconds: float | None = None) -> Trained:
    """Return the best candidate on the validation lists, the first one in a tie, and the figures of all candidates.

    With a limit of `seconds`, at least one candidate is tried, and further ones in random order while there is time.
    """
    validation = validation_lists(plan, corpus)
    every = list(candidates(plan.model))
    tried: list[Row] = []
    for row in _try(plan, lists, every if seconds is None else _spread(plan, every), validation, seconds):
        tried.append(row)
        reporter.message(format_row(row))
    tried.sort(key=lambda row: every.index({name: row[name] for name in every[0]}))
    best = max(tried, key=lambda row: row[f"valid {plan.training.watch}"])
    chosen = replace(plan, config=plan.config | {name: best[name] for name in every[0]})
    return fit_again(chosen, corpus, {name: value for name, value in best.items() if name != "seconds"}, tried)


def fit_again(plan: Plan, corpus: Corpus, figures: Row, tried: list[Row]) -> Trained:
    """Return the chosen model, fitted to the validation lists too: they have nothing left to decide."""
    network = plan.build()
    network.fit(*corpus.flat("train", "valid"))
    return Trained(plan.of(network), network, figures, tried=tried)


def validation_lists(plan: Plan, corpus: Corpus) -> EvaluationLists:
    """Return the lists that decide between candidates; raise BadSetting if there are none."""
    found = evaluation_lists(corpus, "valid", plan.training.validation_lists)
    if not found.inputs:
        raise BadSetting("the corpus has no validation lists to choose by; prepare it again, or use --recipe paper")
    return found


def _try(
    plan: Plan, lists: FlatLists, order: Iterable[Row], validation: EvaluationLists, seconds: float | None
) -> Iterator[Row]:
    """Yield the figures of the candidates, in this order, until the next one would probably exceed the limit."""
    started = before = time.perf_counter()
    for values, network in _fitted_candidates(plan, lists, order):
        figures = values | evaluate(network, validation)
        now = time.perf_counter()
        yield figures | {"seconds": round(now - before, 3)}
        if seconds is not None and (now - started) + (now - before) > seconds:
            return
        before = now


def _fitted_candidates(plan: Plan, lists: FlatLists, order: Iterable[Row]) -> Iterator[tuple[Row, Any]]:
    """Yield the values of each candidate and its model; values that only matter in scoring share a fit."""
    for to_fit, sharing in groupby(order, lambda values: _to_fit(plan, values)):
        network = replace(plan, config=plan.config | to_fit).build()
        network.fit(*lists)
        for values in sharing:
            network.config = replace(network.config, **values)
            yield values, network


def _to_fit(plan: Plan, values: Row) -> Row:
    """Return the values that matter to `fit`."""
    scoring = getattr(entry(plan.model).model, "scoring", ())
    return {name: value for name, value in values.items() if name not in scoring}


def _spread(plan: Plan, every: Sequence[Row]) -> list[Row]:
    """Return the candidates for a search that may end early: those most like the defaults first, the others shuffled.

    The order is the same each time, and candidates that share a fit stay together.
    """
    places = np.random.default_rng(0).permutation(len(every)).tolist()
    fits = [_to_fit(plan, values) for values in every]
    first_of_fit = [min(place for place, other in zip(places, fits, strict=True) if other == fit) for fit in fits]

    def unlike(values: Row) -> int:
        return sum(plan.config[name] != value for name, value in values.items())

    least = min(map(unlike, fits))
    keys = [
        (unlike(fit) > least, first, unlike(values), place)
        for values, fit, first, place in zip(every, fits, first_of_fit, places, strict=True)
    ]
    return [every[n] for n in sorted(range(len(every)), key=keys.__getitem__)]


def candidates(model: str) -> Iterator[Row]:
    """Yield every combination of the values in the model's `search` grids."""
    grids = _grids(model)
    for values in product(*grids.values()):
        yield dict(zip(grids, values, strict=True))


def refuse_searched(plan: Plan, values: Mapping[str, Any]) -> None:
    """Raise BadSetting if a value is given for a setting that the search chooses."""
    for name in _grids(plan.model) if plan.training.recipe == "best" else ():
        if name in values:
            raise BadSetting(f"--recipe best chooses {name} itself; leave {name} out, or use --recipe paper")


def _grids(model: str) -> Mapping[str, tuple[Any, ...]]:
    return dict(getattr(entry(model).model, "search", {}))


def evaluate(network: Any, validation: EvaluationLists) -> Row:
    """Return the figures of a fitted model on these lists."""
    engine = TorchEngine(network, network.config.alphabet.items)
    figures = list_metrics(predict(engine, validation, PROTOCOL), validation, PROTOCOL)
    return {f"valid {name}": mean(figures[name]) for name in ("HR@5", "NDCG@5")}


def format_row(row: Row) -> str:
    """Return the settings and figures of a candidate as text."""
    formats = {name: "" if isinstance(value, str) else ".4f" if "valid" in name else "g" for name, value in row.items()}
    return "  ".join(f"{name} {value:{formats[name]}}" for name, value in row.items())
