"""The configurations of the list memory and of V-STAN. Needs no torch."""

from dataclasses import dataclass

from fansrec.models.config import NOT_NEGATIVE, Config, ItemsConfig, setting


@dataclass(frozen=True)
class MemoryConfig(Config):
    """How the list memory finds the training lists most similar to the input, and how their items are weighted."""

    lists: int = setting(0, NOT_NEGATIVE, "memory_lists")  # number of training lists
    items: int = setting(0, NOT_NEGATIVE, "memory_items")  # distinct items of each list, summed over all lists
    sharpness: float = setting(2.0, NOT_NEGATIVE)  # power of the similarity
    recency: float = setting(0.0, "must be from 0 to 1")  # how much less the first item of the input weighs
    before: float = setting(1.0, NOT_NEGATIVE)  # weight of items before the last shared item
    near: float = setting(0.0, NOT_NEGATIVE)  # extra weight of items near the last shared item
    neighbors: int = setting(500, "must be at least 1", "neighbours")  # most similar lists that vote  # words: keep
    aligned: float = setting(0.0, NOT_NEGATIVE)  # extra weight of a shared item at the same position in both lists
    newer: float = setting(0.0, NOT_NEGATIVE)  # the oldest list has e^-newer times the similarity of the newest


@dataclass(frozen=True)
class VstanConfig(ItemsConfig):
    """A decay is the distance after which a weight is 1/e, in mean lengths of training lists; 0: no decay."""

    memory_lists: int = setting(0, NOT_NEGATIVE)  # number of training lists
    memory_items: int = setting(0, NOT_NEGATIVE)  # distinct items of each list, summed over all lists
    neighbors: int = setting(100, "must be at least 1")  # k
    sample_size: int = setting(0, NOT_NEGATIVE)  # newest lists that are compared with the input; 0: all
    input_decay: float = setting(0.0, NOT_NEGATIVE)  # lambda_spw
    list_decay: float = setting(0.0, NOT_NEGATIVE)  # lambda_snh, in shares of all training lists
    item_decay: float = setting(1.0, NOT_NEGATIVE)  # lambda_inh
    shared_decay: float = setting(0.25, NOT_NEGATIVE)  # lambda_ipw
    idf_weight: float = setting(0.2, NOT_NEGATIVE)  # lambda_idf
