"""The configuration of the hybrid model: one section for each part, and the weights of their mixture.

`setting` gives a field the flat name under which users set it. Sizes that follow from the training lists, the settings
of the list memory and the mixture weights are searched when the model is trained, unless they are given
(training/hybrid/).
"""

from dataclasses import dataclass, fields

from fansrec.errors import BadSetting
from fansrec.models.config import NOT_NEGATIVE, POSITIVE, Config, ItemsConfig, setting, setting_name
from fansrec.models.linear.config import SlistConfig
from fansrec.models.neighbors.config import MemoryConfig
from fansrec.models.sequence.config import CLASSIFIERS

FLOOR = 1e-3  # votes and linear scores below this share of the highest hardly count


@dataclass(frozen=True)
class NetworkConfig(Config):
    """The Transformer and its classifier."""

    width: int = 64
    layers: int = 2
    heads: int = 4
    feedforward: int = 256
    dropout: float = 0.2
    classifier: str = setting("two-stage", CLASSIFIERS)
    asked_categories: int = setting(3, "must be at least 1")  # whose items the two-stage classifier scores for a list
    use_categories: bool = True
    # Older files do not have the next four. `fans train` sets causal, transform and read_masks to True, False and 3;
    # next_share is searched.
    causal: bool = False  # tokens of the input see only those before them
    transform: bool = True  # a layer between the encoder and the classifier, as in BERT
    # Share of the state after the input in the probabilities of items; the masks have the rest.
    next_share: float = setting(0.0, "must be from 0 to 1")
    read_masks: int = setting(10, "must be at least 1")  # whose predictions are averaged, evenly spread over all masks
    # Share of the training lists that the network reads in random order. `fans train` sets it to 0.5 if the memory is
    # not better with the order of the items than without it.
    shuffled_share: float = setting(0.0, "must be from 0 to 1")


@dataclass(frozen=True)
class LinearConfig(Config):
    """The linear model: the strongest item-item weights of SLIST, EASE or item-kNN, whichever mixes best."""

    neighbors: int = setting(0, NOT_NEGATIVE, "linear_neighbours")  # weights kept for each item
    # Positions after which an item's weight is 1/e.
    decay: float = setting(SlistConfig.input_decay, POSITIVE, "linear_decay")


@dataclass(frozen=True)
class MixtureWeights(Config):
    """The weight of each part in the sum of their log scores."""

    network: float = setting(0.1, NOT_NEGATIVE, "network_weight")
    memory: float = setting(1.0, NOT_NEGATIVE, "memory_weight")
    linear: float = setting(0.3, NOT_NEGATIVE, "linear_weight")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not any((self.network, self.memory, self.linear)):
            names = ", ".join(setting_name(one) for one in fields(self))
            raise BadSetting(f"{names} are all 0; at least one of them must be above 0")


@dataclass(frozen=True)
class HybridConfig(ItemsConfig):
    positions: int  # length of the longest training sequence, CLS and SEP included
    network: NetworkConfig = NetworkConfig()
    memory: MemoryConfig = MemoryConfig()  # noqa: RUF009  it is frozen
    linear: LinearConfig = LinearConfig()
    weights: MixtureWeights = MixtureWeights()
