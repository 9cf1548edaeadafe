"""All that can be set about training, with its defaults written once."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from fansrec.errors import BadSetting
from fansrec.models.registry import entry

FROM_THE_CORPUS = {"category_starts", "positions"}  # parts of a model's config that nobody sets by hand


@dataclass(frozen=True)
class TrainSettings:
    """The defaults are the paper's (appendix A.1, A.3), or the released code's where the paper is silent."""

    recipe: str = "paper"
    scheduler: str = "step"  # or "naive": the whole target is masked from the start
    steps: int = 5  # curriculum steps
    epochs: int = 200  # at most
    patience: int = 3  # epochs without a better validation figure before a curriculum step ends
    batch_size: int = 256
    learning_rate: float = 0.01
    warmup: int = 600  # optimizer steps up to the full learning rate
    decay: str = "none"
    watch: str = "HR@5"
    seed: int = 0

    @property
    def curriculum_steps(self) -> int:
        return self.steps if self.scheduler == "step" else 1


def known_names(model: str) -> dict[str, type]:
    """Every name that can be set for a model, with its type."""
    of_training = {field.name: type(field.default) for field in fields(TrainSettings)}
    of_model = {
        field.name: type(field.default) for field in fields(entry(model).config) if field.name not in FROM_THE_CORPUS
    }
    return of_training | of_model


def parse(model: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by name, texts turned into the type the name asks for; unknown names are refused."""
    known = known_names(model)
    parsed = {}
    for name, value in values.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(known))}"
            raise BadSetting(f"{model} has no setting {name!r}; {hint}")
        parsed[name] = _typed(name, value, known[name])
    return parsed


def _typed(name: str, value: Any, kind: type) -> Any:
    if kind is bool and str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    try:
        if kind is not bool:
            return kind(value)
    except ValueError:
        pass
    raise BadSetting(
        f"{name} is {value!r}; it must be {'true or false' if kind is bool else f'of type {kind.__name__}'}"
    )


def split(model: str, values: Mapping[str, Any]) -> tuple[TrainSettings, dict[str, Any]]:
    """Parsed values as training settings and as the part of the model's config they speak of."""
    names = {field.name for field in fields(TrainSettings)}
    training = TrainSettings(**{name: value for name, value in values.items() if name in names})
    return training, {name: value for name, value in values.items() if name not in names}
