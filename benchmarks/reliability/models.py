"""Models with random weights and named items, and requests for them."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.reliability.encoding import encoded

POSITIONS = 303  # the longest list of the paper's Spotify data set, and its special tokens


@dataclass(frozen=True)
class Size:
    """Number of items and categories, and the workload that determines the lengths of lists."""

    items: int = 104_695
    categories: int = 10
    workload: str = "spotify"


QUICK = Size(items=2_000, workload="small")


def size_of(quick: bool, categories: int = 10) -> Size:
    return QUICK if quick else Size(categories=categories)


def make_model(folder: Path, size: Size, seed: int = 0, recipe: str = "paper") -> Path:
    """Write an artifact as training does, and return its folder."""
    from fansrec.artifact import write_artifact
    from fansrec.experiments.speed.random_models import random_best, random_model

    folder.mkdir(parents=True)
    if recipe == "best":
        model: Any = random_best(size.workload, size.items, size.categories, POSITIONS, seed)
    else:
        model = random_model("fans", size.items, size.categories, POSITIONS, seed)
    config = {"model": model.name, "config": asdict(model.config), "training": {"recipe": recipe}}
    write_artifact(folder, model, _vocabulary(size), config, "# random weights\n")
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
class Request:
    """A request: lists of item indices, and the number of items to return for each."""

    lists: Sequence[Sequence[int]]
    k: int

    @property
    def body(self) -> bytes:
        return json.dumps({"lists": [[f"t{item}" for item in given] for given in self.lists], "k": self.k}).encode()

    @property
    def encoded(self) -> bytes:
        return encoded(body=self.body)


def make_requests(size: Size, requests: int, lists: int = 1, k: int | None = 10, seed: int = 0) -> list[Request]:
    """Return requests with `lists` lists each; without `k`, as many items as the second half of each list has.

    A request has one k for all its lists, so lists of similar length share a request; k is then their mean.
    """
    from fansrec.experiments.speed.workloads import questions_of

    questions = questions_of(size.workload, size.items, requests * lists, seed)
    if k is None and lists > 1:
        questions.sort(key=lambda question: question.k)
    made = []
    for start in range(0, len(questions), lists):
        some = questions[start : start + lists]
        count = k if k is not None else round(sum(question.k for question in some) / len(some))
        made.append(Request([question.input.tolist() for question in some], count))
    return made
