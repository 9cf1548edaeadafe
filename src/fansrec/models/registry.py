"""The models by name. A new model is one file and two lines here, or an entry point of another package."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from fansrec.errors import BadSetting, needs_torch
from fansrec.models.config import ItemsConfig, SequenceConfig, from_plain
from fansrec.models.hybrid.config import HybridConfig
from fansrec.models.limits import check_settings
from fansrec.models.linear.config import EaseConfig, ItemKnnConfig, MarkovConfig, RP3betaConfig, SlistConfig
from fansrec.models.neighbors.config import VstanConfig
from fansrec.models.sequence.config import Bert4RecConfig, CaserConfig, FansConfig, SasRecConfig

GROUP = "fansrec.models"  # entry points of other packages: a name, and an Entry


@dataclass(frozen=True)
class Entry:
    source: Any  # the class of the model, or its name in PLACES: it is imported when it is first used
    config: type[Any]  # a frozen dataclass
    fixed: Mapping[str, Any] = field(default_factory=dict)  # settings that define this model and cannot be changed
    title: str | None = None  # name in papers, if it differs from the title of the class
    best: str | None = None  # registry name of the model that `--recipe best` trains, if it is another one

    @property
    def model(self) -> type[Any]:
        """The class of the model, a torch module; raises MissingExtra if torch is not installed."""
        return _imported(self.source) if isinstance(self.source, str) else self.source


def _imported(name: str) -> type[Any]:
    try:
        found: type[Any] = getattr(import_module(PLACES[name]), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise needs_torch(name) from error
    return found


# Where the classes are; names instead of classes, so that settings and artifacts are read without torch.
PLACES = {
    "Fans": "fansrec.models.fans",
    "HybridFans": "fansrec.models.hybrid.model",
    "Bert4Rec": "fansrec.models.sequence.bert4rec",
    "SasRec": "fansrec.models.sequence.sasrec",
    "Gru4Rec": "fansrec.models.sequence.gru4rec",
    "Caser": "fansrec.models.sequence.caser",
    "Car": "fansrec.models.sequence.car",
    "ItemKnn": "fansrec.models.linear.item_knn",
    "Ease": "fansrec.models.linear.ease",
    "RP3beta": "fansrec.models.linear.rp3beta",
    "Slist": "fansrec.models.linear.slist",
    "Vstan": "fansrec.models.neighbors.vstan",
    "Markov": "fansrec.models.linear.markov",
    "Popularity": "fansrec.models.linear.popularity",
}
MODELS = {
    "fans": Entry("Fans", FansConfig, best="fans-hybrid"),
    "fans-hybrid": Entry("HybridFans", HybridConfig, {"causal": True, "transform": False}),
    "bert4rec": Entry("Bert4Rec", Bert4RecConfig),
    "bert4rec-nar": Entry("Fans", FansConfig, {"classifier": "vanilla", "scheduler": "naive"}, "BERT4Rec_NAR"),
    "sasrec": Entry("SasRec", SasRecConfig),
    "gru4rec": Entry("Gru4Rec", SequenceConfig),
    "caser": Entry("Caser", CaserConfig),
    "car": Entry("Car", SasRecConfig),
    "item-knn": Entry("ItemKnn", ItemKnnConfig),
    "ease": Entry("Ease", EaseConfig),
    "rp3beta": Entry("RP3beta", RP3betaConfig),
    "slist": Entry("Slist", SlistConfig),
    "vstan": Entry("Vstan", VstanConfig),
    "markov": Entry("Markov", MarkovConfig),
    "popularity": Entry("Popularity", ItemsConfig),
}
COMMANDS = {found.best: name for name, found in MODELS.items() if found.best}  # see `command_name`


def names() -> list[str]:
    """Return what `--model NAME` accepts, models of other packages last."""
    others = (found.name for found in entry_points(group=GROUP) if found.name not in MODELS)
    return [*(name for name in MODELS if name not in COMMANDS), *others]


def is_known(name: str) -> bool:
    """Return whether there is such a model; other packages are searched only if it is not one of ours."""
    return name in MODELS or any(entry_points(group=GROUP, name=name))


def model_name(name: str, recipe: str) -> str:
    """Return the registry name of what `--model NAME --recipe RECIPE` trains."""
    best = entry(name).best
    return best if recipe == "best" and best is not None else name


def command_name(name: str) -> str:
    """Return the NAME of `--model NAME` that trains a model of the registry: fans for fans-hybrid."""
    return COMMANDS.get(name, name)


def has_best(name: str) -> bool:
    """Return whether `--model NAME` has a recipe 'best': another model, or settings to search."""
    return entry(name).best is not None or hasattr(entry(name).model, "search")


def entry(name: str) -> Entry:
    """Return the entry of a model; raise BadSetting if there is none."""
    if name in MODELS:
        return MODELS[name]
    for found in entry_points(group=GROUP, name=name):
        return _loaded(name, found)
    raise BadSetting(f"there is no model {name!r}; choose one of {', '.join(names())}")


def _loaded(name: str, found: Any) -> Entry:
    try:
        loaded = found.load()
    except Exception as error:  # an import of another package may raise anything
        raise BadSetting(
            f"the model {name!r} of {found.value} cannot be loaded ({error}); repair that package"
        ) from error
    if not isinstance(loaded, Entry):
        raise BadSetting(
            f"{found.value} is not a fansrec.models.registry.Entry, so {name!r} is not a model; see add-a-model.md"
        )
    return loaded


def build(name: str, config: Mapping[str, Any]) -> Any:
    """Return a new model from its registry name and the plain values of its configuration."""
    found = entry(name)
    return found.model(configured(found, config))


def configured(found: Entry, config: Mapping[str, Any]) -> Any:
    """Return the configuration of a model from its plain values, after a check of their types and limits."""
    check_settings(found.config, config)
    return from_plain(found.config, config)
