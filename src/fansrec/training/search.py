"""`--recipe best` of a model in closed form: fit every candidate, judge it on the validation lists, keep the best."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.data.corpus import Corpus
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadSetting
from fansrec.evaluation.protocol import Questions, ask, judge, mean, protocol, questions
from fansrec.models.registry import entry
from fansrec.training.plan import Plan
from fansrec.training.reporting import Reporter

Lists = tuple[NDArray[np.int32], NDArray[np.int64]]
Row = dict[str, Any]

HOW = protocol("standard")  # what a user sees: ten items, none of them given before


@dataclass(frozen=True)
class Found:
    """The best candidate, and the validation figures of all."""

    plan: Plan
    network: Any
    figures: Row
    tried: list[Row]


def search(plan: Plan, corpus: Corpus, lists: Lists, reporter: Reporter) -> Found:
    """Among equals the first candidate wins."""
    asked = questions(corpus, "valid", plan.training.validation_lists)
    if not asked.inputs:
        raise BadSetting("the corpus has no validation lists to choose by; prepare it anew, or use --recipe paper")
    best: Found | None = None
    tried: list[Row] = []
    for values in candidates(plan.model):
        candidate = replace(plan, config=plan.config | values)
        began = time.perf_counter()
        network = candidate.build()
        network.fit(*lists)
        figures = values | _judged(network, asked, len(corpus.vocabulary))
        tried.append(figures | {"seconds": round(time.perf_counter() - began, 3)})
        reporter.say(_told(tried[-1]))
        watched = f"valid {plan.training.watch}"
        if best is None or figures[watched] > best.figures[watched]:
            best = Found(candidate, network, figures, tried)
    assert best is not None
    return best


def candidates(model: str) -> Iterator[Row]:
    """Every combination of the values that a model's `search` names for its settings."""
    grids = _grids(model)
    for values in product(*grids.values()):
        yield dict(zip(grids, values, strict=True))


def refuse_searched(plan: Plan, given: Mapping[str, Any]) -> None:
    """A setting that is searched for cannot be given as well."""
    for name in _grids(plan.model) if plan.training.recipe == "best" else ():
        if name in given:
            raise BadSetting(f"--recipe best chooses {name} itself; leave {name} out, or use --recipe paper")


def _grids(model: str) -> Mapping[str, tuple[Any, ...]]:
    return dict(getattr(entry(model).model, "search", {}))


def _judged(network: Any, asked: Questions, items: int) -> Row:
    figures = judge(ask(TorchEngine(network, items), asked, HOW), asked, HOW)
    return {f"valid {name}": mean(figures[name]) for name in ("HR@5", "NDCG@5")}


def _told(row: Row) -> str:
    def shown(name: str, value: Any) -> str:
        return str(value) if isinstance(value, str) else f"{value:.4f}" if "valid" in name else f"{value:g}"

    return "  ".join(f"{name} {shown(name, value)}" for name, value in row.items())
