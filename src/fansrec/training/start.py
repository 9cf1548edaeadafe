"""Training as users ask for it, on the command line and in Python: what they leave out is what is best."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fansrec.data.corpus import read_corpus
from fansrec.training import trainer
from fansrec.training.plan import Plan
from fansrec.training.reporting import Reporter
from fansrec.training.settings import default_recipe


def train(
    corpus: str | Path,
    out: str | Path,
    model: str | None = None,
    values: Mapping[str, Any] | None = None,
    reporter: Reporter = trainer.SILENCE,
    resume: bool = False,
    draw: trainer.Draw | None = None,
    compare: bool = True,
) -> Plan:
    """Train `model` (fans) with these settings, by the best recipe it has unless they say otherwise.

    What was begun goes on as it was begun. `compare` sets the result beside popularity, item-kNN and EASE.
    """
    given = _given(model, values, resume)
    return trainer.train(corpus, out, model, given, reporter, resume, draw, compare)


def begin(
    corpus: str | Path, out: str | Path, model: str | None, values: Mapping[str, Any] | None, resume: bool
) -> Plan:
    """Write the plan down and train nothing yet: what was begun can be resumed, here or elsewhere."""
    return trainer.begin(read_corpus(Path(corpus)), Path(out), model, _given(model, values, resume), resume)


def _given(model: str | None, values: Mapping[str, Any] | None, resume: bool) -> dict[str, Any]:
    given = dict(values or {})
    return given if resume else {"recipe": default_recipe(model or "fans", given)} | given
