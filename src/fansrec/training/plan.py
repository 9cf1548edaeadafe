"""The plan of a training run: the model, its config and the settings, stored with the weights."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fansrec.data.corpus import Corpus, fingerprint
from fansrec.errors import BadArtifact, BadSetting
from fansrec.files import read_json
from fansrec.models.registry import build, entry, has_best
from fansrec.models.tokens import SPECIALS
from fansrec.training.hybrid.sizes import fitting
from fansrec.training.settings import TrainSettings, defaults, fixed, parse, split


@dataclass(frozen=True)
class Plan:
    model: str
    config: dict[str, Any]  # the plain values of the model's config
    training: TrainSettings
    fingerprint: str  # of the corpus
    given: tuple[str, ...] = ()  # the settings the user gave, which no search changes

    @property
    def variant(self) -> str:
        """The paper's name of the model variant."""
        found = entry(self.model)
        paper = self.training.recipe == "paper"
        title = found.title or str(getattr(found.model, "title", self.model))
        if self.model == "fans" and paper:
            two_stage = "TSC-" if self.config["classifier"] == "two-stage" else ""
            title += f"_{two_stage}{self.training.scheduler.upper()}"
        star = "" if self.config.get("use_categories", True) else "*"
        return title + star + ("" if paper else f" ({self.training.recipe})")

    def build(self) -> Any:
        return build(self.model, self.config, self.training.recipe)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def make_plan(model: str, values: Mapping[str, Any], corpus: Corpus) -> Plan:
    """Return a plan with the settings the user gave; all others have defaults or come from the corpus."""
    recipe = str(values.get("recipe", "paper"))
    if recipe == "best" and not has_best(model):
        raise BadSetting(f"there is no recipe 'best' for {model}; leave it out, or use paper")
    given = parse(model, values)
    chosen = defaults(model, recipe) | fitting(model, recipe, corpus) | fixed(model, recipe)
    training, of_model = split(chosen | given)
    from_corpus = {
        "category_starts": tuple(corpus.vocabulary.starts.tolist()),
        "positions": int(corpus.lengths.max()) + SPECIALS,
    }
    kind = entry(model, recipe).config
    shape = {name: value for name, value in from_corpus.items() if name in kind.__dataclass_fields__} | of_model
    return Plan(model, asdict(kind(**shape)), training, fingerprint(corpus), tuple(sorted(given)))


def saved_plan(path: Path, model: str | None, values: Mapping[str, Any], corpus: Corpus) -> Plan:
    """Return the plan of an interrupted run; refuse settings that contradict it, or another corpus."""
    try:
        saved = read_json(path)
        training, given = TrainSettings(**saved["training"]), tuple(saved["given"])
        plan = Plan(saved["model"], saved["config"], training, saved["fingerprint"], given)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadArtifact(f"{path} cannot be read ({error}); start the training again") from error
    requested = {"model": model or plan.model} | parse(plan.model, {"recipe": plan.training.recipe} | dict(values))
    started_with = {"model": plan.model} | plan.config | asdict(plan.training)
    for name, value in requested.items():
        if value != started_with[name]:
            raise BadSetting(f"this run was started with {name}={started_with[name]}; resume without {name}={value}")
    if plan.fingerprint != fingerprint(corpus):
        raise BadSetting("this run was started on another corpus; resume it with that corpus")
    return plan
