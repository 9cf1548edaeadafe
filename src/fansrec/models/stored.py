"""Models as their files have them: a configuration and named arrays. The native engine runs them without torch.

`KINDS` has what is known of a model without its torch module. Models that are not in it, also those of other packages,
are read by torch (module.py).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from fansrec.models import outlines
from fansrec.models.config import longest_sequence
from fansrec.models.outlines import Outline

ONE_PASS, AUTOREGRESSIVE, RECALL = "one-pass", "autoregressive", "recall"


@dataclass(frozen=True)
class Kind:
    """What the torch class of a model says about it, and what its file holds."""

    name: str
    title: str
    generation: str  # the default generation mode
    modes: tuple[str, ...]  # all generation modes
    outline: Callable[[Any], Outline]  # of the arrays, from the configuration
    log_scores: bool = True  # whether scores are logarithms; otherwise they are sums of weights or counts


def _closed_form(name: str, title: str, outline: Callable[[Any], Outline] = outlines.item_weights) -> Kind:
    return Kind(name, title, RECALL, (AUTOREGRESSIVE, RECALL), outline, log_scores=False)


FANS = Kind("fans", "FANS", ONE_PASS, (ONE_PASS, RECALL), outlines.fans)
KINDS = {  # by registry name
    "fans": FANS,
    "bert4rec-nar": FANS,
    "fans-hybrid": Kind("fans-hybrid", "FANS", ONE_PASS, (ONE_PASS, RECALL), outlines.hybrid),
    "bert4rec": Kind("bert4rec", "BERT4Rec", AUTOREGRESSIVE, (ONE_PASS, AUTOREGRESSIVE, RECALL), outlines.bert4rec),
    "sasrec": Kind("sasrec", "SASRec", AUTOREGRESSIVE, (AUTOREGRESSIVE, RECALL), outlines.sasrec),
    "item-knn": _closed_form("item-knn", "item-kNN"),
    "ease": _closed_form("ease", "EASE"),
    "rp3beta": _closed_form("rp3beta", "RP3beta"),
    "slist": _closed_form("slist", "SLIST"),
    "vstan": _closed_form("vstan", "V-STAN", outlines.vstan),
    "popularity": _closed_form("popularity", "popularity", outlines.popularity),
}


@dataclass(frozen=True)
class StoredModel:
    """A trained model: its configuration, and its arrays by name, which may be a mapped file."""

    kind: Kind
    config: Any
    arrays: Mapping[str, NDArray[Any]] = field(repr=False)

    @property
    def name(self) -> str:
        return self.kind.name

    @property
    def title(self) -> str:
        return self.kind.title

    @property
    def log_scores(self) -> bool:
        return self.kind.log_scores

    @property
    def generation(self) -> str:
        return self.kind.generation

    @property
    def modes(self) -> tuple[str, ...]:
        return self.kind.modes

    def longest_sequence(self) -> int | None:
        """Return how many items, input and answer together, one call can take; None if there is no limit."""
        return longest_sequence(self.config)

    @cached_property
    def module(self) -> Any:
        """The torch module with these arrays; raises MissingExtra if torch is not installed."""
        from fansrec.models.registry import entry

        found = entry(self.name).model  # first: its error says what to install
        from fansrec.models.module import with_arrays

        return with_arrays(found, self.config, self.arrays)


def stored_model(model: Any) -> StoredModel:
    """Return a torch module of one of KINDS as a stored model that shares its arrays; a stored model as it is."""
    if isinstance(model, StoredModel):
        return model
    return StoredModel(
        KINDS[model.name], model.config, {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    )
