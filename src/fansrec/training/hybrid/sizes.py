"""Settings that `--recipe best` takes from the size of the corpus, so that nobody has to tune them."""

from typing import Any

from fansrec.data.corpus import Corpus
from fansrec.models.registry import entry

STEPS = 2500  # of the optimizer: more of them learn the lists by heart
FEW_LISTS = 5_000
MANY_ITEMS = 2_000_000  # of all lists together


def fitting(model: str, recipe: str, corpus: Corpus) -> dict[str, Any]:
    """Batches, epochs, width and dropout for a network of its own; nothing for other recipes."""
    if recipe != "best" or entry(model).best is None:
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
