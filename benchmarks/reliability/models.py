"""Models to serve, with weights drawn at random and names for their items, and lists to ask them about."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.reliability.encoding import encoded

POSITIONS = 303  # the longest list of the paper's Spotify set, and what is put around it


@dataclass(frozen=True)
class Size:
    """A catalogue, and the workload whose lengths its lists have."""

    items: int = 104_695
    categories: int = 10
    workload: str = "spotify"


QUICK = Size(items=2_000, workload="small")


def size_of(quick: bool, categories: int = 10) -> Size:
    return QUICK if quick else Size(categories=categories)


def make_model(folder: Path, size: Size, seed: int = 0, recipe: str = "paper") -> Path:
    """An artifact as training writes it."""
    from fansrec.artifact import write_artifact
    from fansrec.experiments.speed.random_models import random_best, random_model

    folder.mkdir(parents=True)
    if recipe == "best":
        model: Any = random_best(size.workload, size.items, size.categories, POSITIONS, seed)
    else:
        model = random_model("fans", size.items, size.categories, POSITIONS, seed)
    config = {"model": model.name, "config": asdict(model.config), "training": {"recipe": recipe}}
    write_artifact(folder, model, _vocabulary(size), config, "# made up\n")
    return folder


def _vocabulary(size: Size) -> Any:
    import numpy as np

    from fansrec.experiments.speed.workloads import even_categories
    from fansrec.vocabulary import Vocabulary

    artists = max(1, size.items // 20)
    return Vocabulary(
        [f"t{number}" for number in range(size.items)],
        np.array(even_categories(size.items, size.categories)),
        names=[f"Song {number} of the evening" for number in range(size.items)],
        groups=[f"Artist {number * 7 % artists}" for number in range(size.items)],
        category_names=[f"mood {number}" for number in range(size.categories)],
    )


@dataclass(frozen=True)
class Asked:
    """One request: lists of item numbers and how many items each is to be continued by."""

    lists: Sequence[Sequence[int]]
    k: int

    @property
    def body(self) -> bytes:
        return json.dumps({"lists": [[f"t{item}" for item in given] for given in self.lists], "k": self.k}).encode()

    @property
    def request(self) -> bytes:
        return encoded(body=self.body)


def make_requests(size: Size, requests: int, lists: int = 1, k: int | None = 10, seed: int = 0) -> list[Asked]:
    """Requests of so many lists each; without a `k`, as many items as the second half of each list has.

    A request has one k for all its lists, so lists of like length share one; k is then their mean.
    """
    from fansrec.experiments.speed.workloads import questions_of

    questions = questions_of(size.workload, size.items, requests * lists, seed)
    if k is None and lists > 1:
        questions.sort(key=lambda question: question.k)
    made = []
    for start in range(0, len(questions), lists):
        some = questions[start : start + lists]
        wanted = k if k is not None else round(sum(question.k for question in some) / len(some))
        made.append(Asked([question.input.tolist() for question in some], wanted))
    return made
