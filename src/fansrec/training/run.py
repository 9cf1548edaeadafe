"""Training with the defaults for users: `trainer.train` with the best recipe of the model unless another is given."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fansrec.data.corpus import read_corpus
from fansrec.training import trainer
from fansrec.training.plan import Plan
from fansrec.training.reporting import NULL_REPORTER, Reporter
from fansrec.training.settings import default_recipe


def train(
    corpus: str | Path,
    out: str | Path,
    model: str | None = None,
    values: Mapping[str, Any] | None = None,
    reporter: Reporter = NULL_REPORTER,
    resume: bool = False,
    draw: trainer.Draw | None = None,
    compare: bool = True,
) -> Plan:
    """Train `model` (default: fans) with these settings, by its best recipe unless they name another.

    A resumed run keeps the recipe it was started with. `compare` compares the result with popularity, item-kNN and
    EASE.
    """
    values = _with_recipe(model, values, resume)
    return trainer.train(corpus, out, model, values, reporter, resume, draw, compare)


def begin(
    corpus: str | Path, out: str | Path, model: str | None, values: Mapping[str, Any] | None, resume: bool
) -> Plan:
    """Write the plan of a new run without training, so that it can be resumed, here or elsewhere."""
    return trainer.begin(read_corpus(Path(corpus)), Path(out), model, _with_recipe(model, values, resume), resume)


def _with_recipe(model: str | None, values: Mapping[str, Any] | None, resume: bool) -> dict[str, Any]:
    values = dict(values or {})
    return values if resume else {"recipe": default_recipe(model or "fans", values)} | values
