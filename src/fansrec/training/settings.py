"""The settings of training and their defaults."""

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from fansrec.errors import BadSetting
from fansrec.models.config import NOT_NEGATIVE, POSITIVE, Config, setting, setting_name, settings_of
from fansrec.models.registry import Entry, entry, has_best, model_name

# Fields of a model's config that come from the corpus and cannot be set.
FROM_THE_CORPUS = {"category_starts", "positions", "memory_lists", "memory_items", "linear_neighbours"}
ALSO_IN_CLOSED_FORM = {"recipe", "watch", "validation_lists", "seed"}  # the settings of training without epochs
CHOICES = {
    "recipe": ("paper", "best"),
    "scheduler": ("step", "naive"),
    "classifier": ("two-stage", "vanilla"),
    "precision": ("auto", "fp32", "bf16"),
    "watch": ("HR@5", "NDCG@5"),
}


@dataclass(frozen=True)
class TrainSettings(Config):
    """Training settings; the defaults are the paper's (appendix A), or the released code's if the paper has none."""

    recipe: str = "paper"
    scheduler: str = "step"  # or "naive": the whole target is masked from the first epoch on
    steps: int = setting(5, POSITIVE)  # curriculum steps
    epochs: int = setting(200, POSITIVE)  # the maximum
    patience: int = setting(3, POSITIVE)  # epochs without a better validation figure before a curriculum step ends
    watch: str = "NDCG@5"  # the validation figure that decides
    batch_size: int = setting(256, POSITIVE)
    learning_rate: float = setting(0.01, POSITIVE)
    weight_decay: float = setting(0.0, NOT_NEGATIVE)
    gradient_norm: float = setting(0.0, NOT_NEGATIVE)  # longer gradients are shortened to it; 0: never
    average: float = setting(0.0, "must be at least 0 and below 1")  # decay of the weights' moving average; 0: none
    # Optimizer steps until the full learning rate, which then decreases to 0 over all epochs.
    warmup: int = setting(600, NOT_NEGATIVE)
    precision: str = "auto"  # bf16 on a GPU, fp32 elsewhere
    checkpoint_seconds: float = setting(30.0, NOT_NEGATIVE)  # between two checkpoints
    validation_lists: int = setting(2000, POSITIVE)  # the maximum; evenly spread over the validation lists
    seed: int = setting(0, NOT_NEGATIVE)

    @property
    def curriculum_steps(self) -> int:
        """The number of curriculum steps: each has at least one epoch, and the naive scheduler has only one step."""
        return min(self.steps, self.epochs) if self.scheduler == "step" else 1


def fixed(model: str, recipe: str = "paper") -> dict[str, Any]:
    """What nobody can set for a model: what makes it what it is, and no curriculum where there is no target to mask."""
    found = _entry(model, recipe)
    no_curriculum = {} if getattr(found.model, "objective", None) == "continuation" else {"scheduler": "naive"}
    return no_curriculum | dict(found.fixed)


def defaults(model: str, recipe: str = "paper") -> dict[str, Any]:
    """Where a model's training must differ from the defaults above to be fair to it."""
    return dict(getattr(_entry(model, recipe).model, "defaults", {}))


def default_recipe(model: str, values: Mapping[str, Any]) -> str:
    """Return 'best' if the model has it, unless a given setting exists only in recipe 'paper' or is searched by 'best'.

    An unknown setting does not decide, so that the error message lists the settings of the intended recipe.
    """
    if "recipe" in values or not has_best(model):
        return str(values.get("recipe", "paper"))
    searched = getattr(_entry(model, "best").model, "search", {})
    papers = (known_names(model).keys() - known_names(model, "best").keys()) | searched.keys()
    return "paper" if papers & values.keys() else "best"


def known_names(model: str, recipe: str = "paper") -> dict[str, type]:
    """Every name that can be set for a model, with its type."""
    set_already = fixed(model, recipe)
    without = FROM_THE_CORPUS | {*set_already} | ({"steps"} if set_already.get("scheduler") == "naive" else set())
    found = _entry(model, recipe)
    by_gradient = hasattr(found.model, "objective")
    of_training = [field for field in fields(TrainSettings) if by_gradient or field.name in ALSO_IN_CLOSED_FORM]
    of_model = [field for _, field in settings_of(found.config)]
    known = {setting_name(field): type(field.default) for field in (*of_training, *of_model)}
    return {name: kind for name, kind in known.items() if name not in without}


def _entry(model: str, recipe: str) -> Entry:
    """Return the entry of the model that `--model MODEL --recipe RECIPE` trains."""
    return entry(model_name(model, recipe))


def parse(model: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values by name, with texts converted to the types of the settings; refuse unknown names."""
    recipe = str(values.get("recipe", "paper"))
    known = known_names(model, recipe)
    parsed = {}
    for name, value in values.items():
        if name not in known:
            other = "best" if recipe == "paper" else "paper"
            if has_best(model) and name in known_names(model, other):
                raise BadSetting(
                    f"{name} is a setting of --recipe {other} and not of {recipe}; leave out one of the two"
                )
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"settings are {', '.join(sorted(known))}"
            raise BadSetting(f"{model} has no setting {name!r}; {hint}")
        parsed[name] = _typed(name, value, known[name])
        if name in CHOICES and parsed[name] not in CHOICES[name]:
            raise BadSetting(f"{name} is {parsed[name]!r}; it must be {' or '.join(CHOICES[name])}")
    return parsed


def _typed(name: str, value: Any, kind: type) -> Any:
    """Return a value from a command line or a TOML file as `kind`; refuse 2.5 as an int, and nan."""
    try:
        if kind is bool:
            return {"true": True, "false": False}[str(value).lower()]
        typed = kind(value)
        if kind is str or (math.isfinite(typed) and (isinstance(value, str) or typed == value)):
            return typed
    except (KeyError, ValueError, TypeError, OverflowError):
        pass
    expected = "true or false" if kind is bool else f"of type {kind.__name__}"
    raise BadSetting(f"{name} is {value!r}; it must be {expected}")


def split(values: Mapping[str, Any]) -> tuple[TrainSettings, dict[str, Any]]:
    """Split parsed values into training settings and values of the model's config."""
    names = {field.name for field in fields(TrainSettings)}
    training = TrainSettings(**{name: value for name, value in values.items() if name in names})
    return training, {name: value for name, value in values.items() if name not in names}
