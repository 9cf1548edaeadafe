"""Settings of the hybrid model that follow from the size of the corpus, so that nobody has to tune them."""

from typing import Any

from fansrec.data.corpus import Corpus
from fansrec.models.hybrid.model import HybridFans
from fansrec.models.registry import entry

STEPS = 2500  # optimizer steps: more of them overfit
FEW_LISTS = 5_000
MANY_ITEMS = 2_000_000  # of all lists together


def fitting(model: str, corpus: Corpus) -> dict[str, Any]:
    """Return batch size, epochs, width and dropout of the hybrid model for a corpus; nothing for other models."""
    if entry(model).model is not HybridFans:
        return {}
    lists = max(1, len(corpus.part("train")))
    batch = 64 if lists < FEW_LISTS else 256
    wide = len(corpus.items) > MANY_ITEMS
    return {
        "batch_size": batch,
        "epochs": min(120, max(20, round(STEPS * batch / lists))),
        "width": 128 if wide else 64,
        "heads": 8 if wide else 4,
        "feedforward": 512 if wide else 256,
        "dropout": 0.1 if wide else 0.2,
    }
