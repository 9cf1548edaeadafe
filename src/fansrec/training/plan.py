"""The plan of a training run: the model, its config and the settings, stored with the weights."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from fansrec.data.corpus import Corpus, fingerprint
from fansrec.errors import BadArtifact, BadSetting
from fansrec.files import read_json
from fansrec.models.alphabet import SPECIALS
from fansrec.models.config import flat_settings, from_settings, settings_of
from fansrec.models.hybrid.model import HybridFans
from fansrec.models.registry import build, command_name, configured, entry, has_best, model_name
from fansrec.training.settings import TrainSettings, defaults, fixed, parse, split

Row = dict[str, Any]

FEW_LISTS = 5_000
MANY_LISTS = 25_000
INTERACTIONS = 12_000_000  # to read in all epochs together


@dataclass(frozen=True)
class Plan:
    """What is trained, with every setting.

    Attributes:
        model: Name of the model in the registry.
        config: Plain values of the configuration of the model, nested.
        training: Settings of the training.
        fingerprint: Fingerprint of the corpus.
        given: Names of the settings that the user gave, which no search changes.
        start: The trained model whose weights were the first ones (starting/plan.py).
    """

    model: str
    config: dict[str, Any]
    training: TrainSettings
    fingerprint: str
    given: tuple[str, ...] = ()
    start: Row | None = None

    @property
    def variant(self) -> str:
        """The paper's name of the model variant."""
        found = entry(self.model)
        paper = self.training.recipe == "paper"
        title = found.title or str(getattr(found.model, "title", self.model))
        settings = self.settings
        if self.model == "fans":
            two_stage = "TSC-" if settings["classifier"] == "two-stage" else ""
            title += f"_{two_stage}{self.training.scheduler.upper()}"
        star = "" if settings.get("use_categories", True) else "*"
        return title + star + ("" if paper else f" ({self.training.recipe})")

    @property
    def settings(self) -> dict[str, Any]:
        """The values of the model's configuration by the names under which users set them."""
        return flat_settings(configured(entry(self.model), self.config))

    @property
    def tracked(self) -> Row:
        """The settings that experiment trackers record."""
        return {"model": command_name(self.model)} | self.settings | asdict(self.training)

    def build(self) -> Any:
        return build(self.model, self.config)

    def plain(self) -> Row:
        """Return the plan as plain values for JSON; most have no `start`."""
        return {name: value for name, value in asdict(self).items() if name != "start" or value is not None}

    def of(self, network: Any) -> "Plan":
        """Return the plan with the configuration of a fitted model: `fit` may set sizes that follow from the lists."""
        return replace(self, config=asdict(network.config))


@dataclass(frozen=True)
class Trained:
    """The result of training a plan; a search may change values of the plan."""

    plan: Plan
    network: Any
    figures: Row = field(default_factory=dict)  # on the validation lists
    history: list[Row] = field(default_factory=list)  # one row per epoch
    tried: list[Row] = field(default_factory=list)  # one row per candidate of a search
    linear: Row | None = None  # "model" and "settings" of the linear model in a mixture
    comparison: Row | None = None  # with models that take little time to train


def make_plan(model: str, values: Mapping[str, Any], corpus: Corpus) -> Plan:
    """Return a plan with the settings the user gave; all others have defaults or come from the corpus."""
    recipe = str(values.get("recipe", "paper"))
    if command_name(model) != model:
        raise BadSetting(f"{model} is trained by --model {command_name(model)} --recipe best; use these")
    if recipe == "best" and not has_best(model):
        raise BadSetting(f"there is no recipe 'best' for {model}; leave it out, or use paper")
    asked = parse(model, values)
    name = model_name(model, recipe)
    chosen = defaults(model, recipe) | fitting(name, corpus) | fixed(model, recipe)
    training, of_model = split(chosen | asked)
    kind = entry(name).config
    shape = from_corpus(kind, corpus) | of_model
    return Plan(name, asdict(from_settings(kind, shape)), training, fingerprint(corpus), tuple(sorted(asked)))


def from_corpus(kind: type[Any], corpus: Corpus) -> dict[str, Any]:
    """Return the fields of a configuration of this kind that follow from the corpus."""
    values = {
        "category_starts": tuple(corpus.vocabulary.starts.tolist()),
        "positions": int(corpus.lengths.max()) + SPECIALS,
    }
    known = {field.name for _, field in settings_of(kind)}
    return {name: value for name, value in values.items() if name in known}


def fitting(model: str, corpus: Corpus) -> dict[str, Any]:
    """Return the sizes of the hybrid model for a corpus, so that nobody has to tune them; nothing for other models."""
    if entry(model).model is not HybridFans:
        return {}
    lists = len(corpus.part("train"))
    wide = lists >= MANY_LISTS
    return {
        "next_share": 0.5,
        "read_masks": 3,  # as good as ten on validation lists
        "batch_size": 64 if lists < FEW_LISTS else 256,
        "learning_rate": 0.004 if lists < FEW_LISTS else 0.008,
        "epochs": min(30, max(14, INTERACTIONS // len(corpus.items))),
        "width": 128 if wide else 64,
        "feedforward": 512 if wide else 256,
        "dropout": 0.3 if wide else 0.2,
    }


def saved_plan(path: Path, model: str | None, values: Mapping[str, Any], corpus: Corpus) -> Plan:
    """Return the plan of an interrupted run; refuse settings that contradict it, or another corpus."""
    try:
        saved = read_json(path)
        training, given = TrainSettings(**saved["training"]), tuple(saved["given"])
        plan = Plan(saved["model"], saved["config"], training, saved["fingerprint"], given, saved.get("start"))
        begun = plan.tracked
    except (OSError, ValueError, KeyError, TypeError, BadSetting) as error:
        raise BadArtifact(f"{path} cannot be read ({error}); start the training again") from error
    own = command_name(plan.model)
    asked = {"model": model or own} | parse(own, {"recipe": plan.training.recipe} | dict(values))
    for name, value in asked.items():
        if value != begun[name]:
            raise BadSetting(f"this run was started with {name}={begun[name]}; resume without {name}={value}")
    if plan.fingerprint != fingerprint(corpus):
        raise BadSetting("this run was started on another corpus; resume it with that corpus")
    return plan
