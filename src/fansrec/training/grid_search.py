"""Grid search, the best recipe of models in closed form: fit every candidate, keep the best on validation lists."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from fansrec.data.corpus import Corpus, FlatLists
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadSetting
from fansrec.evaluation.protocol import EvaluationLists, evaluation_lists, list_metrics, mean, predict, protocol
from fansrec.models.registry import entry
from fansrec.training.plan import Plan, Row, Trained
from fansrec.training.reporting import Reporter

PROTOCOL = protocol("standard")  # what users get: ten items, none of them in the input


def search(plan: Plan, corpus: Corpus, lists: FlatLists, reporter: Reporter) -> Trained:
    """Return the best candidate on the validation lists, the first one in a tie, and the figures of all candidates."""
    validation = evaluation_lists(corpus, "valid", plan.training.validation_lists)
    if not validation.inputs:
        raise BadSetting("the corpus has no validation lists to choose by; prepare it again, or use --recipe paper")
    tried: list[Row] = []
    started = time.perf_counter()
    for values, network in _fitted_candidates(plan, lists):
        figures = values | _evaluate(network, validation, len(corpus.vocabulary))
        tried.append(figures | {"seconds": round(time.perf_counter() - started, 3)})
        reporter.message(_format_row(tried[-1]))
        started = time.perf_counter()
    best = max(tried, key=lambda row: row[f"valid {plan.training.watch}"])
    plan = replace(plan, config=plan.config | {name: best[name] for name in _grids(plan.model)})
    network = plan.build()
    # Fitted to the validation lists too, which have nothing left to decide.
    network.fit(*corpus.flat("train", "valid"))
    figures = {name: value for name, value in best.items() if name != "seconds"}
    return Trained(plan.of(network), network, figures, tried=tried)


def _fitted_candidates(plan: Plan, lists: FlatLists) -> Iterator[tuple[Row, Any]]:
    """Yield the values of each candidate and its model; values that only matter in scoring share a fit."""
    scoring = getattr(entry(plan.model).model, "scoring", ())
    network, fitted = None, None
    for values in candidates(plan.model):
        to_fit = {name: value for name, value in values.items() if name not in scoring}
        if network is None or to_fit != fitted:
            network, fitted = replace(plan, config=plan.config | values).build(), to_fit
            network.fit(*lists)
        network.config = replace(network.config, **values)
        yield values, network


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


def _evaluate(network: Any, validation: EvaluationLists, items: int) -> Row:
    figures = list_metrics(predict(TorchEngine(network, items), validation, PROTOCOL), validation, PROTOCOL)
    return {f"valid {name}": mean(figures[name]) for name in ("HR@5", "NDCG@5")}


def _format_row(row: Row) -> str:
    formats = {name: "" if isinstance(value, str) else ".4f" if "valid" in name else "g" for name, value in row.items()}
    return "  ".join(f"{name} {value:{formats[name]}}" for name, value in row.items())
