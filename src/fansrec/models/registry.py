"""The models by name. A new model is one file and one line here."""

from dataclasses import dataclass
from typing import Any

from torch import nn

from fansrec.errors import BadSetting
from fansrec.models.fans import Fans, FansConfig
from fansrec.models.popularity import Popularity, PopularityConfig


@dataclass(frozen=True)
class Entry:
    model: type[nn.Module]
    config: type[Any]


MODELS = {
    "fans": Entry(Fans, FansConfig),
    "popularity": Entry(Popularity, PopularityConfig),
}


def entry(name: str) -> Entry:
    if name not in MODELS:
        raise BadSetting(f"there is no model {name!r}; choose one of {', '.join(MODELS)}")
    return MODELS[name]


def build(name: str, config: dict[str, Any]) -> Any:
    """A model from its name and the plain values of its config."""
    found = entry(name)
    values = config | {"category_starts": tuple(config["category_starts"])}
    return found.model(found.config(**values))
