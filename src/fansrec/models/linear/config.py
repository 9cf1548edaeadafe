"""The configurations of the linear models. Needs no torch."""

from dataclasses import dataclass

from fansrec.models.config import NOT_NEGATIVE, POSITIVE, ItemsConfig, setting

NEIGHBORS = 200  # weights kept for each item if a full matrix would be too large
KEPT_CELLS = 1 << 26  # weights of a regression and their items: 512 MB
# Among items with equal scores, above all those without any weight, the more popular comes first. The factor is too
# small to change the order of other scores.
TIE = 1e-9
SIMILARITIES = ("cosine", "jaccard", "conditional")


def regression_width(items: int) -> int:
    """Return how many weights of a regression are kept for each item if a full matrix would be too large.

    Regressions lose more than similarities if few are kept, above all those of popular items.
    """
    return min(1000, max(NEIGHBORS, KEPT_CELLS // items), items - 1)


@dataclass(frozen=True)
class ItemWeightsConfig(ItemsConfig):
    """What all models of item-item weights have in common."""

    # Weights kept for each item; 0: all, or `pruned_width` if there are more than `dense_items` items.
    neighbours: int = setting(0, NOT_NEGATIVE)
    dense_items: int = setting(15_000, NOT_NEGATIVE)  # number of items up to which a full matrix is computed

    @property
    def items(self) -> int:
        return self.category_starts[-1]

    @property
    def width(self) -> int | None:
        """The number of weights that are kept for each item, or None for a full matrix."""
        if self.neighbours == 0 and self.items <= self.dense_items:
            return None
        return min(self.neighbours or self.pruned_width, self.items - 1)  # none to itself

    @property
    def pruned_width(self) -> int:
        return NEIGHBORS


@dataclass(frozen=True)
class RegressionConfig(ItemWeightsConfig):
    """The regression is exact for up to `dense_items` items."""

    regularization: float = setting(100.0, POSITIVE)  # lambda
    predictors: int = setting(256, POSITIVE)  # items that predict an item if there are more

    @property
    def pruned_width(self) -> int:
        return regression_width(self.items)


@dataclass(frozen=True)
class EaseConfig(RegressionConfig):
    """Lambda, and how the regression is approximated if there are many items."""


@dataclass(frozen=True)
class SlistConfig(RegressionConfig):
    regularization: float = setting(50.0, POSITIVE)  # lambda
    alpha: float = setting(0.5, "must be from 0 to 1")  # weight of the EASE part
    diagonal: float = setting(0.0, "must be from 0 to 1")  # largest weight of an item for itself; 1: no limit
    decay: float = setting(30.0, POSITIVE)  # in positions
    input_decay: float = setting(20.0, POSITIVE)  # in positions


@dataclass(frozen=True)
class ItemKnnConfig(ItemWeightsConfig):
    similarity: str = setting("cosine", SIMILARITIES)
    shrinkage: float = setting(0.0, NOT_NEGATIVE)  # in the denominator: reduces weights based on few lists
    popularity_exponent: float = setting(0.25, NOT_NEGATIVE)  # of the conditional similarity


@dataclass(frozen=True)
class RP3betaConfig(ItemWeightsConfig):
    alpha: float = setting(1.0, NOT_NEGATIVE)  # power of the probabilities; 1: a plain random walk
    beta: float = setting(0.4, NOT_NEGATIVE)  # power of the popularity


@dataclass(frozen=True)
class MarkovConfig(ItemsConfig):
    smoothing: float = setting(1.0, POSITIVE)  # pseudo-count of transitions to items by their popularity
    # Followers kept for each item; the probability of the others goes to items by popularity.
    neighbours: int = setting(200, POSITIVE)
