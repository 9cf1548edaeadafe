"""What is compared: a model, its recipe and its settings in one word, `NAME[:RECIPE][+SETTING=VALUE...]`."""

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
    model: str
    recipe: str
    settings: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.model}:{self.recipe}" + "".join(f"+{name}={value}" for name, value in self.settings)

    def values(self, seed: int) -> dict[str, Any]:
        """All that is given to training."""
        return {**dict(self.settings), "recipe": self.recipe, "seed": seed}

    @property
    def is_random(self) -> bool:
        """Whether another seed trains another model; what is counted or solved comes out the same."""
        return hasattr(entry(self.model).model, "objective")


def parse_systems(text: str) -> list[System]:
    """The systems of a list with commas, each once."""
    systems = list(dict.fromkeys(parse_system(word) for word in text.split(",") if word.strip()))
    if not systems:
        raise BadSetting("no model is named; give some as --models fans,ease,item-knn")
    return systems


def parse_system(text: str) -> System:
    """The recipe is best where the model has it, else paper, unless told."""
    head, *pairs = text.strip().split("+")
    model, _, recipe = head.partition(":")
    recipe = recipe or ("best" if has_best(model) else "paper")  # an unknown model is refused here
    entry(model)
    if recipe not in CHOICES["recipe"]:
        raise BadSetting(f"{text}: there is no recipe {recipe!r}; it can be {' or '.join(CHOICES['recipe'])}")
    return System(model, recipe, tuple(sorted(_setting(pair, text) for pair in pairs)))


def _setting(pair: str, text: str) -> tuple[str, str]:
    name, equals, value = pair.partition("=")
    if not (name and equals and value):
        raise BadSetting(f"{text}: {pair!r} is no SETTING=VALUE; write systems as NAME[:RECIPE][+SETTING=VALUE...]")
    if name in OWN_OPTION:
        raise BadSetting(f"{text}: {name} is no setting of a system; {OWN_OPTION[name]}")
    return name, value


def check_systems(systems: Sequence[System], corpus: Corpus) -> None:
    """Refuse what cannot be trained, before anything is."""
    for system in systems:
        values = system.values(seed=0)
        refuse_searched(make_plan(system.model, values, corpus), values)
