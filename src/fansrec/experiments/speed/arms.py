"""The systems that are compared with each other, with random weights of one seed."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from fansrec.experiments.speed.engines import Engines, Say
from fansrec.experiments.speed.measuring import Arm
from fansrec.experiments.speed.random_models import EMBEDDED, random_best, random_fans, random_linear, random_model
from fansrec.experiments.speed.workloads import workload
from fansrec.models.alphabet import SPECIALS


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

    @cached_property
    def engines(self) -> Engines:
        return Engines(self.items, self.device, self.longest, self.say)

    def build(self, arms: Sequence[str], categories: Sequence[int]) -> list[Arm]:
        """Return all requested arms, with one-pass models for each number of categories."""
        found = self.autoregressive(arms) if {"authors", "autoregressive"} & {*arms} else []
        found += [arm for count in categories for arm in self.one_pass(arms, count)]
        return found + (self.linear() if "linear" in arms else [])

    def one_pass(self, arms: Collection[str], categories: int) -> list[Arm]:
        """Return the paper's FANS and the hybrid model; N = 1 is the vanilla classifier, which is the paper's only."""
        hybrid = categories > 1 and bool({"eager", "compiled", "ours"} & {*arms})
        return self.fans(arms, categories) + (self.best(arms, categories) if hybrid else [])

    def fans(self, arms: Collection[str], categories: int) -> list[Arm]:
        """Return the paper's FANS with the same weights in every arm."""
        model = random_fans(self.items, categories, self.longest, self.seed).to(self.device)
        return self.engines.arms(arms, model, "paper", categories)

    def best(self, arms: Collection[str], categories: int) -> list[Arm]:
        """Return the hybrid model, which the authors' code does not have."""
        model = random_best(self.workload, self.items, categories, self.longest, self.seed).to(self.device)
        return self.engines.arms(arms, model, "best", categories)

    def autoregressive(self, arms: Sequence[str]) -> list[Arm]:
        """Return BERT4Rec as the authors run it, then BERT4Rec and SASRec on our engines."""
        wanted = {*arms} & ({"authors", "eager", "autoregressive"} if "autoregressive" in arms else {"authors"})
        found = []
        for name in ("bert4rec", "sasrec"):
            embedded = min(EMBEDDED, self.items)
            model = random_model(name, self.items, embedded, self.longest, self.seed).to(self.device)
            found += self.engines.arms(wanted, model, "paper", 1, "autoregressive")
        return found

    def linear(self) -> list[Arm]:
        models = [random_linear(name, self.items, self.seed).to(self.device) for name in ("ease", "item-knn")]
        return [arm for model in models for arm in self.engines.arms({"linear"}, model, "paper", 1, "linear")]
