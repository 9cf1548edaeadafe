"""Trained models that continue the test lists of their corpus, as the paper's protocol evaluates them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from fansrec.artifact import Artifact
from fansrec.data.corpus import Corpus, read_corpus
from fansrec.engine.modes import AUTOREGRESSIVE, RECALL
from fansrec.errors import BadSetting
from fansrec.evaluation.protocol import evaluation_lists
from fansrec.evaluation.rows import open_run, with_items_of
from fansrec.experiments.speed.engines import Engines, Say
from fansrec.experiments.speed.measuring import Arm
from fansrec.experiments.speed.workloads import Question
from fansrec.models.alphabet import SPECIALS

# The arm of a model on its fastest backend, by its generation mode; the others are "ours".
KINDS = {AUTOREGRESSIVE: "autoregressive", RECALL: "linear"}


@dataclass(frozen=True)
class TrainedSystems:
    """Builds the arms of trained models, all of them trained on one corpus."""

    folder: Path  # of the corpus
    runs: Sequence[Path]
    device: str
    say: Say = lambda line: None

    @cached_property
    def corpus(self) -> Corpus:
        """The corpus, with the items of the first model."""
        corpus = read_corpus(self.folder)
        return with_items_of(open_run(self.runs[0], corpus), corpus)

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def items(self) -> int:
        return len(self.corpus.vocabulary)

    @cached_property
    def engines(self) -> Engines:
        longest = int(self.corpus.lengths.max()) + SPECIALS
        return Engines(self.items, self.device, longest, self.say)

    def questions(self, most: int) -> list[Question]:
        """Return the test lists, or `most` evenly spaced ones: the input, and the number of items in the target."""
        lists = evaluation_lists(self.corpus, "test", most)
        if not lists.inputs:
            raise BadSetting(f"{self.folder} has no test lists; prepare it with a split that has some")
        return [Question(given, len(target)) for given, target in zip(lists.inputs, lists.targets, strict=True)]

    def build(self, arms: Sequence[str]) -> list[Arm]:
        """Return the arms of every run; raise BadSetting if one was trained on another corpus or has other items."""
        found = [
            replace(arm, run=name)
            for name, run in zip(run_names(self.runs), self.runs, strict=True)
            for arm in self._arms(self._open(run), arms)
        ]
        if not found:
            raise BadSetting(f"--arms {','.join(arms)} has no arm for these models; add ours")
        return found

    def _open(self, run: Path) -> Artifact:
        artifact = open_run(run, read_corpus(self.folder))
        if len(artifact.vocabulary) != self.items:
            raise BadSetting(
                f"{run} has other items than {self.runs[0]}, since one was updated; measure each by itself"
            )
        return artifact

    def _arms(self, artifact: Artifact, arms: Sequence[str]) -> list[Arm]:
        """Return the requested arms of a model; `ours` also requests a model of another kind on its fastest backend."""
        kind = KINDS.get(artifact.stored.generation, "ours")
        wanted = {*arms} | ({kind} if "ours" in arms else set())
        variant = artifact.config.get("training", {}).get("recipe", "paper")
        return self.engines.arms(wanted, artifact.stored, variant, _categories(artifact), kind)


def _categories(artifact: Artifact) -> int:
    """Return the number of categories of a two-stage classifier, or 1."""
    config: Any = artifact.stored.config
    classifier = getattr(getattr(config, "network", config), "classifier", None)
    return len(config.category_starts) - 1 if classifier == "two-stage" else 1


def run_names(runs: Sequence[Path]) -> list[str]:
    """Return the names of the folders, or the paths as they are given if two folders have the same name."""
    names = [run.resolve().name for run in runs]
    return names if len({*names}) == len(names) else [str(run) for run in runs]
