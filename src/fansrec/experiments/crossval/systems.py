"""The systems that are compared: a model, its recipe and its settings, written `NAME[:RECIPE][+SETTING=VALUE...]`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fansrec.data.corpus import Corpus
from fansrec.errors import BadSetting
from fansrec.models.registry import entry, has_best
from fansrec.training.grid_search import refuse_searched
from fansrec.training.plan import make_plan
from fansrec.training.settings import CHOICES

OWN_OPTION = {"recipe": "write it as NAME:RECIPE", "seed": "give training seeds with --seeds"}


@dataclass(frozen=True)
class System:
    """A model with its recipe and settings."""

    model: str
    recipe: str
    settings: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.model}:{self.recipe}" + "".join(f"+{name}={value}" for name, value in self.settings)

    def training_settings(self, seed: int) -> dict[str, Any]:
        """Return all settings that are given to training."""
        return {**dict(self.settings), "recipe": self.recipe, "seed": seed}

    @property
    def is_random(self) -> bool:
        """Whether another seed gives another model; models in closed form are deterministic."""
        return hasattr(entry(self.model).model, "objective")


def parse_systems(text: str) -> list[System]:
    """Return the distinct systems of a comma-separated list."""
    systems = list(dict.fromkeys(parse_system(part) for part in text.split(",") if part.strip()))
    if not systems:
        raise BadSetting("--models names no model; give at least one, such as fans,ease,item-knn")
    return systems


def parse_system(text: str) -> System:
    """Return the system; the default recipe is best where the model has it, else paper."""
    head, *pairs = text.strip().split("+")
    model, _, recipe = head.partition(":")
    recipe = recipe or ("best" if has_best(model) else "paper")  # refuses an unknown model
    entry(model)
    if recipe not in CHOICES["recipe"]:
        raise BadSetting(f"{text}: there is no recipe {recipe!r}; it can be {' or '.join(CHOICES['recipe'])}")
    return System(model, recipe, tuple(sorted(_parse_setting(pair, text) for pair in pairs)))


def _parse_setting(pair: str, text: str) -> tuple[str, str]:
    name, equals, value = pair.partition("=")
    if not (name and equals and value):
        raise BadSetting(f"{text}: {pair!r} is not a SETTING=VALUE; write systems as NAME[:RECIPE][+SETTING=VALUE...]")
    if name in OWN_OPTION:
        raise BadSetting(f"{text}: {name} is not a setting of a system; {OWN_OPTION[name]}")
    return name, value


def check_systems(systems: Sequence[System], corpus: Corpus) -> None:
    """Refuse systems that cannot be trained on `corpus`, before any is trained."""
    for system in systems:
        settings = system.training_settings(seed=0)
        refuse_searched(make_plan(system.model, settings, corpus), settings)
