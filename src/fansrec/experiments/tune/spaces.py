"""The values among which the settings of each model are searched."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fansrec.models.linear.config import SIMILARITIES
from fansrec.training.settings import known_names

DIGITS = 3  # significant ones of a drawn value
STEP = 0.15  # standard deviation of a small change, as a share of a range


@dataclass(frozen=True)
class Range:
    """All values between two; on a logarithmic scale unless `linear`."""

    low: float
    high: float
    linear: bool = False
    whole: bool = False

    def draw(self, random: np.random.Generator) -> float:
        return self._at(random.random())

    def near(self, value: Any, random: np.random.Generator) -> float:
        """Return a value near `value`."""
        return self._at(self._share(float(value)) + STEP * random.standard_normal())

    def _share(self, value: float) -> float:
        """Return where a value is in the range, from 0 to 1."""
        if self.linear:
            return (value - self.low) / (self.high - self.low)
        return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)

    def _at(self, share: float) -> float:
        share = min(1.0, max(0.0, share))
        span = self.high - self.low
        value = self.low + share * span if self.linear else self.low * (self.high / self.low) ** share
        return round(value) if self.whole else float(f"{value:.{DIGITS}g}")


@dataclass(frozen=True)
class Choice:
    """A few values in order."""

    values: tuple[Any, ...]

    def draw(self, random: np.random.Generator) -> Any:
        return self.values[random.integers(len(self.values))]

    def near(self, value: Any, random: np.random.Generator) -> Any:
        """Return a neighbor of `value`, or any value if it is not one of them."""
        if value not in self.values:
            return self.draw(random)
        place = self.values.index(value) + random.choice((-1, 1))
        return self.values[min(len(self.values) - 1, max(0, place))]


Space = Mapping[str, Range | Choice]

CLOSED_FORM: Mapping[str, Space] = {
    "item-knn": {
        "similarity": Choice(SIMILARITIES),
        "shrinkage": Choice((0.0, 3.0, 10.0, 30.0, 100.0, 300.0)),
        "neighbours": Choice((0, 20, 50, 100, 200)),  # words: keep
        "popularity_exponent": Choice((0.0, 0.25, 0.5, 0.75)),
    },
    "ease": {"regularization": Range(1.0, 20_000.0)},
    "rp3beta": {"alpha": Range(0.2, 1.6, linear=True), "beta": Range(0.0, 1.0, linear=True)},
    "slist": {
        "regularization": Range(3.0, 3_000.0),
        "alpha": Range(0.0, 1.0, linear=True),
        "diagonal": Choice((0.0, 1.0)),
        "decay": Range(3.0, 300.0),
        "input_decay": Choice((1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 1e6)),
    },
    "vstan": {
        "neighbors": Range(20, 1_500, whole=True),
        "input_decay": Choice((0.0, 0.125, 0.25, 0.5, 1.0, 2.0)),
        "list_decay": Choice((0.0, 0.25, 0.5, 1.0, 2.0, 4.0)),
        "item_decay": Choice((0.0, 0.25, 0.5, 1.0, 2.0)),
        "shared_decay": Choice((0.0, 0.0625, 0.125, 0.25, 0.5, 1.0)),
        "idf_weight": Choice((0.0, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)),
    },
    "markov": {"smoothing": Range(0.03, 300.0), "neighbours": Choice((50, 100, 200, 500, 1_000))},  # words: keep
}
NETWORK: Space = {
    "learning_rate": Range(0.0005, 0.03),
    "dropout": Choice((0.0, 0.1, 0.2, 0.3, 0.4, 0.5)),
    "width": Choice((32, 64, 128)),
    "layers": Choice((1, 2, 3, 4)),
    "feedforward": Choice((128, 256, 512)),
    "batch_size": Choice((64, 128, 256, 512)),
    "epochs": Choice((10, 20, 30, 50, 100, 200)),
    "weight_decay": Choice((0.0, 0.01, 0.1, 0.2)),
    "hidden_share": Choice((0.15, 0.3, 0.5)),
    "window": Choice((3, 5, 8)),
}


def space_of(model: str, recipe: str) -> Space:
    """Return the values of each setting of `--model MODEL --recipe RECIPE` that is searched; empty if there is none."""
    known = known_names(model, recipe)
    return {name: values for name, values in CLOSED_FORM.get(model, NETWORK).items() if name in known}
