"""The configuration of the hybrid model: one section for each part, and the weights of their mixture.

`setting` gives a field the flat name under which users set it. Sizes that follow from the training lists, the settings
of the list memory and the mixture weights are determined after the network is trained, unless they are given
(training/hybrid/weight_search.py).
"""

from dataclasses import dataclass, fields

from fansrec.errors import BadSetting
from fansrec.models.config import ItemsConfig, above_zero, at_least, check_sizes, setting, setting_name
from fansrec.models.fans import check_classifier
from fansrec.models.linear.slist import SlistConfig


@dataclass(frozen=True)
class NetworkConfig:
    """The Transformer and its classifier."""

    width: int = 64
    layers: int = 2
    heads: int = 4
    feedforward: int = 256
    dropout: float = 0.2
    classifier: str = "two-stage"  # or "vanilla"
    asked_categories: int = 3  # categories whose items the two-stage classifier scores for a list
    use_categories: bool = True

    def __post_init__(self) -> None:
        check_classifier(self.classifier)
        at_least(self, 1, "asked_categories")
        check_sizes(self)


@dataclass(frozen=True)
class MemoryConfig:
    """How the list memory finds the training lists most similar to the input, and how their items are weighted."""

    lists: int = setting("memory_lists", 0)  # number of training lists
    items: int = setting("memory_items", 0)  # distinct items of each list, summed over all lists
    sharpness: float = 2.0  # power of the similarity
    recency: float = 0.0  # how much less the first item of the input weighs than the last
    before: float = 1.0  # weight of items before the last shared item
    near: float = 0.0  # extra weight of items near the last shared item
    neighbors: int = setting("neighbours", 500)  # number of most similar lists that vote
    aligned: float = 0.0  # extra weight of a shared item at the same position in both lists

    def __post_init__(self) -> None:
        at_least(self, 1, "neighbors")
        at_least(self, 0, "lists", "items", "sharpness", "before", "near", "aligned")
        if not 0 <= self.recency <= 1:
            raise BadSetting(f"recency is {self.recency}; it must be from 0 to 1")


@dataclass(frozen=True)
class LinearConfig:
    """The linear model: the strongest item-item weights of SLIST."""

    neighbors: int = setting("linear_neighbours", 0)  # weights kept for each item
    decay: float = setting("linear_decay", SlistConfig.input_decay)  # positions after which an item's weight is 1/e

    def __post_init__(self) -> None:
        at_least(self, 0, "neighbors")
        above_zero(self, "decay")


@dataclass(frozen=True)
class MixtureWeights:
    """The weight of each part in the sum of their log scores."""

    network: float = setting("network_weight", 0.1)
    memory: float = setting("memory_weight", 1.0)
    linear: float = setting("linear_weight", 0.3)

    def __post_init__(self) -> None:
        at_least(self, 0, "network", "memory", "linear")
        if not any((self.network, self.memory, self.linear)):
            names = ", ".join(setting_name(one) for one in fields(self))
            raise BadSetting(f"{names} are all 0; at least one of them must be above 0")


@dataclass(frozen=True)
class HybridConfig(ItemsConfig):
    positions: int  # length of the longest training sequence, CLS and SEP included
    network: NetworkConfig = NetworkConfig()
    memory: MemoryConfig = MemoryConfig()
    linear: LinearConfig = LinearConfig()
    weights: MixtureWeights = MixtureWeights()
