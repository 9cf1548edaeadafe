"""The configurations of FANS and of the sequence models. Needs no torch."""

from dataclasses import dataclass

from fansrec.models.config import ItemsConfig, SequenceConfig, setting

CLASSIFIERS = ("two-stage", "vanilla")


@dataclass(frozen=True)
class FansConfig(SequenceConfig):
    """Settings of the network; category_starts, positions, width, layers, dropout and use_categories are inherited."""

    heads: int = 8
    feedforward: int = 256
    classifier: str = setting("two-stage", CLASSIFIERS)


@dataclass(frozen=True)
class Bert4RecConfig(SequenceConfig):
    heads: int = 8
    feedforward: int = 256
    hidden_share: float = setting(0.3, "must be above 0 and at most 1")  # of a list's items are masked in training


@dataclass(frozen=True)
class SasRecConfig(SequenceConfig):
    heads: int = 8


@dataclass(frozen=True)
class CaserConfig(ItemsConfig):
    width: int = 64
    window: int = setting(5, "must be at least 1")  # number of last items that are read
    horizontal: int = setting(16, "must be at least 1")  # filters of each height
    vertical: int = setting(4, "must be at least 1")  # vertical filters
    dropout: float = 0.5
    use_categories: bool = True
