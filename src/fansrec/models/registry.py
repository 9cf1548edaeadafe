"""The models by name. A new model is one file and one line here, or an entry point of another package."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any

from torch import nn

from fansrec.errors import BadSetting
from fansrec.models.fans import Fans, FansConfig
from fansrec.models.hybrid.model import FansBest, FansBestConfig
from fansrec.models.limits import check_settings
from fansrec.models.linear.ease import Ease, EaseConfig
from fansrec.models.linear.item_knn import ItemKnn, ItemKnnConfig
from fansrec.models.linear.markov import Markov, MarkovConfig
from fansrec.models.linear.popularity import Popularity, PopularityConfig
from fansrec.models.linear.rp3beta import RP3beta, RP3betaConfig
from fansrec.models.linear.slist import Slist, SlistConfig
from fansrec.models.sequence.bert4rec import Bert4Rec, Bert4RecConfig
from fansrec.models.sequence.car import Car, CarConfig
from fansrec.models.sequence.caser import Caser, CaserConfig
from fansrec.models.sequence.gru4rec import Gru4Rec, Gru4RecConfig
from fansrec.models.sequence.sasrec import SasRec, SasRecConfig

GROUP = "fansrec.models"  # entry points of other packages: a name, and an Entry


@dataclass(frozen=True)
class Entry:
    model: type[nn.Module]
    config: type[Any]  # a frozen dataclass
    fixed: Mapping[str, Any] = field(default_factory=dict)  # settings that make it this model and no other
    title: str | None = None  # as papers write it, where the name of the class's own does not do
    best: "Entry | None" = None  # what `--recipe best` trains, where that is another network


MODELS = {
    "fans": Entry(Fans, FansConfig, best=Entry(FansBest, FansBestConfig)),
    "bert4rec": Entry(Bert4Rec, Bert4RecConfig),
    "bert4rec-nar": Entry(Fans, FansConfig, {"classifier": "vanilla", "scheduler": "naive"}, "BERT4Rec_NAR"),
    "sasrec": Entry(SasRec, SasRecConfig),
    "gru4rec": Entry(Gru4Rec, Gru4RecConfig),
    "caser": Entry(Caser, CaserConfig),
    "car": Entry(Car, CarConfig),
    "item-knn": Entry(ItemKnn, ItemKnnConfig),
    "ease": Entry(Ease, EaseConfig),
    "rp3beta": Entry(RP3beta, RP3betaConfig),
    "slist": Entry(Slist, SlistConfig),
    "markov": Entry(Markov, MarkovConfig),
    "popularity": Entry(Popularity, PopularityConfig),
}


def names() -> list[str]:
    """All models that can be trained here, those of other packages last."""
    return [*MODELS, *(found.name for found in entry_points(group=GROUP) if found.name not in MODELS)]


def is_known(name: str) -> bool:
    """Other packages are looked through only for what is not here."""
    return name in MODELS or any(entry_points(group=GROUP, name=name))


def entry(name: str, recipe: str = "paper") -> Entry:
    found = _entry(name)
    return found.best if recipe == "best" and found.best is not None else found


def has_best(name: str) -> bool:
    """Whether there is a recipe 'best' for a model: a network of its own, or settings to search."""
    return _entry(name).best is not None or hasattr(_entry(name).model, "search")


def _entry(name: str) -> Entry:
    if name in MODELS:
        return MODELS[name]
    for found in entry_points(group=GROUP, name=name):
        return _loaded(name, found)
    raise BadSetting(f"there is no model {name!r}; choose one of {', '.join(names())}")


def _loaded(name: str, found: Any) -> Entry:
    try:
        loaded = found.load()
    except Exception as error:  # whatever a package of somebody else's does when it is imported
        raise BadSetting(
            f"the model {name!r} of {found.value} cannot be loaded ({error}); mend that package"
        ) from error
    if not isinstance(loaded, Entry):
        raise BadSetting(
            f"{found.value} is no fansrec.models.registry.Entry, so {name!r} is no model; see add-a-model.md"
        )
    return loaded


def build(name: str, config: dict[str, Any], recipe: str = "paper") -> Any:
    """A model from its name, the plain values of its config and the recipe it was trained by."""
    found = entry(name, recipe)
    return found.model(configured(found, config))


def configured(found: Entry, config: dict[str, Any]) -> Any:
    """Return the config of a model from its plain values, after a check of their types and limits."""
    check_settings(found.config, config)
    return found.config(**config | {"category_starts": tuple(config["category_starts"])})
