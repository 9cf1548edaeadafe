"""The systems that are compared with each other, with random weights of one seed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fansrec.engine.backends import FAST, open_engine
from fansrec.engine.interface import Engine
from fansrec.engine.modes import AUTOREGRESSIVE
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting
from fansrec.experiments.speed.authors import AuthorsBert4Rec, AuthorsFans
from fansrec.experiments.speed.authors_steps import distinct_by_position, until_a_repeat
from fansrec.experiments.speed.measuring import Answer, Arm, Items
from fansrec.experiments.speed.random_models import EMBEDDED, random_best, random_fans, random_linear, random_model
from fansrec.experiments.speed.workloads import workload
from fansrec.models.alphabet import SPECIALS
from fansrec.models.registry import command_name

RULES = Rules(keep_seen=True)  # as in the paper: input items may be repeated

Say = Callable[[str], None]


@dataclass(frozen=True)
class Systems:
    """Builds the arms of one run, which share workload, number of items, device and seed."""

    workload: str
    items: int
    device: str
    seed: int = 0
    say: Say = lambda line: None  # reports why an arm cannot run as requested

    @property
    def longest(self) -> int:
        """Tokens of the longest list of the workload."""
        return workload(self.workload).longest + SPECIALS

    def build(self, arms: Sequence[str], categories: Sequence[int]) -> list[Arm]:
        """Return all requested arms, with FANS for each number of categories; N = 1 is the vanilla classifier."""
        found = self.autoregressive(arms) if {"authors", "autoregressive"} & {*arms} else []
        for count in categories:
            found += self.fans(arms, count)
            if count > 1 and {"eager", "ours"} & {*arms}:
                found += self.best(arms, count)
        return found + (self.linear() if "linear" in arms else [])

    def fans(self, arms: Sequence[str], categories: int) -> list[Arm]:
        """Return the paper's FANS with the same weights in every arm."""
        model = random_fans(self.items, categories, self.longest, self.seed).to(self.device)
        found = []
        if "authors" in arms:
            found.append(self._authors("fans", categories, AuthorsFans(model, self.longest), distinct_by_position))
        return found + self._engines(arms, model, "paper", categories)

    def best(self, arms: Sequence[str], categories: int) -> list[Arm]:
        model = random_best(self.workload, self.items, categories, self.longest, self.seed).to(self.device)
        return self._engines(arms, model, "best", categories)

    def autoregressive(self, arms: Sequence[str]) -> list[Arm]:
        """Return BERT4Rec as the authors run it, then BERT4Rec and SASRec on our engines."""
        found = []
        for name in ("bert4rec", "sasrec"):
            embedded = min(EMBEDDED, self.items)
            model = random_model(name, self.items, embedded, self.longest, self.seed).to(self.device)
            if "authors" in arms and name == "bert4rec":
                found.append(self._authors(name, 1, AuthorsBert4Rec(model, self.longest), until_a_repeat, True))
            if "autoregressive" in arms:
                engine = self.fastest(model)
                found.append(engine_arm("autoregressive", engine, "paper", 1))
                if "eager" in arms and engine.backend != "torch":
                    found.append(engine_arm("eager", self.torch(model), "paper", 1))
        return found

    def linear(self) -> list[Arm]:
        models = [random_linear(name, self.items, self.seed).to(self.device) for name in ("ease", "item-knn")]
        return [engine_arm("linear", self.fastest(model), "paper", 1) for model in models]

    def _engines(self, arms: Sequence[str], model: Any, variant: str, categories: int) -> list[Arm]:
        found = [engine_arm("eager", self.torch(model), variant, categories)] if "eager" in arms else []
        return found + ([engine_arm("ours", self.fastest(model), variant, categories)] if "ours" in arms else [])

    def torch(self, model: Any) -> Engine:
        return open_engine(model, self.items, self.device, backend="torch")

    def fastest(self, model: Any) -> Engine:
        """Return the fast backend of this device, or torch after saying what is missing."""
        backend = FAST.get(self.device.split(":")[0])
        try:
            if backend is None:
                raise BadSetting(f"there is no fast backend for {self.device}")
            return open_engine(model, self.items, self.device, backend=backend)
        except BadSetting as reason:
            self.say(f"{reason}; {command_name(model.name)} runs on torch")
            return self.torch(model)

    def _authors(
        self, model: str, categories: int, port: Any, select: Callable[[Any], Items], autoregressive: bool = False
    ) -> Arm:
        return Arm(
            arm="authors",
            model=model,
            variant="paper",
            categories=categories,
            backend="torch",
            device=self.device.split(":")[0],
            answer=port.continue_lists,
            to_answers=lambda rankings: [Answer(select(ranking)) for ranking in rankings],
            autoregressive=autoregressive,
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
