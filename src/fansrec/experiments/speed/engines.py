"""A model as several arms: the authors' code, plain torch, compiled torch, and the fastest backend of the device."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from fansrec.engine.backends import FAST, open_engine
from fansrec.engine.interface import Engine
from fansrec.engine.modes import AUTOREGRESSIVE
from fansrec.engine.reference import on_device
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting
from fansrec.experiments.speed import compiled
from fansrec.experiments.speed.authors import AuthorsBert4Rec, AuthorsFans
from fansrec.experiments.speed.authors_steps import distinct_by_position, until_a_repeat
from fansrec.experiments.speed.measuring import Answer, Arm
from fansrec.models.registry import command_name

RULES = Rules(keep_seen=True)  # as in the paper: input items may be repeated
AUTHORS: dict[str, tuple[Any, Any]] = {
    "fans": (AuthorsFans, distinct_by_position),
    "bert4rec": (AuthorsBert4Rec, until_a_repeat),
}

Say = Callable[[str], None]


@dataclass(frozen=True)
class Engines:
    """Builds the arms of models that share the number of items, the device and the longest list."""

    items: int
    device: str
    longest: int  # tokens
    say: Say = lambda line: None  # reports why an arm cannot run as requested

    def arms(
        self, wanted: Collection[str], model: Any, variant: str, categories: int, fastest: str = "ours"
    ) -> list[Arm]:
        """Return the wanted arms of a model; the one on the fastest backend has the name `fastest`."""
        found = []
        if "authors" in wanted and model.name in AUTHORS:
            found.append(self._authors(model, variant, categories))
        fast = self.fastest(model) if fastest in wanted else None
        if "eager" in wanted and (fastest == "ours" or fast is None or fast.backend != "torch"):
            found.append(engine_arm("eager", self.torch(model), variant, categories))
        if "compiled" in wanted and model.name in compiled.MODELS:
            found += self.compiled(model, variant, categories)
        return found + ([engine_arm(fastest, fast, variant, categories)] if fast is not None else [])

    def torch(self, model: Any) -> Engine:
        return open_engine(model, self.items, self.device, backend="torch")

    def fastest(self, model: Any) -> Engine:
        """Return the fast backend of this device, or torch, with a message about what is missing."""
        backend = FAST.get(self.device.split(":")[0])
        try:
            if backend is None:
                raise BadSetting(f"there is no fast backend for {self.device}")
            return open_engine(model, self.items, self.device, backend=backend)
        except BadSetting as reason:
            self.say(f"{reason}; {command_name(model.name)} runs on torch")
            return self.torch(model)

    def compiled(self, model: Any, variant: str, categories: int) -> list[Arm]:
        """Return the compiled arm, or nothing, with a message about the reason."""
        reason = compiled.why_not(self.device)
        if reason is not None:
            self.say(f"torch.compile cannot be used here ({reason}); the arm compiled is left out")
            return []
        engine = compiled.CompiledEngine(on_device(model, self.device), self.items, self.device, self.longest)
        return [replace(engine_arm("compiled", engine, variant, categories), prepare=engine.prepare)]

    def _authors(self, model: Any, variant: str, categories: int) -> Arm:
        port, select = AUTHORS[model.name]
        return Arm(
            arm="authors",
            model=command_name(model.name),
            variant=variant,
            categories=categories,
            backend="torch",
            device=self.device.split(":")[0],
            answer=port(on_device(model, self.device), self.longest).continue_lists,
            to_answers=lambda rankings: [Answer(select(ranking)) for ranking in rankings],
            autoregressive=model.generation == AUTOREGRESSIVE,
        )


def engine_arm(arm: str, engine: Engine, variant: str, categories: int) -> Arm:
    return Arm(
        arm=arm,
        model=command_name(engine.model.name),
        variant=variant,
        categories=categories,
        backend=engine.backend,
        device=engine.device.split(":")[0],
        answer=lambda inputs, counts: engine.continue_lists(inputs, counts, RULES),
        to_answers=lambda continuations: [Answer(one.items, one.scores) for one in continuations],
        autoregressive=engine.generation == AUTOREGRESSIVE,
        engine=engine,
    )
