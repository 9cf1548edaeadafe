"""The libraries and models that are compared, and the settings that are tried for each of them."""

from dataclasses import dataclass
from typing import Any

Settings = dict[str, Any]
OURS = "fansrec"


@dataclass(frozen=True)
class Library:
    """A library that is installed into an environment of its own."""

    requirement: str
    versions: tuple[str, ...]  # packages whose versions are reported


@dataclass(frozen=True)
class Peer:
    """A model of a library; of its candidates, the one with the best NDCG@5 on the validation lists is kept."""

    title: str
    library: str
    module: str
    model: str
    candidates: tuple[Settings, ...]


LIBRARIES = {
    "implicit": Library("implicit", ("implicit", "numpy", "scipy")),
    "lenskit": Library("lenskit", ("lenskit", "numpy", "torch")),
    "rectools": Library("rectools[torch]", ("rectools", "pytorch-lightning", "torch")),
}
NEIGHBORS = (20, 50, 100, 200, 500)  # 20 is the default of implicit
KNN = tuple({"K": count} for count in NEIGHBORS)
FACTORS, ALPHAS = (100, 200), (1.0, 10.0, 40.0)  # 100 and 1.0 are the defaults
ALS = tuple({"factors": factors, "alpha": alpha} for alpha in ALPHAS for factors in FACTORS)
SAVED: tuple[Settings, ...] = ({}, *({"save_nbrs": count} for count in NEIGHBORS))  # unlimited is the default
EPOCHS = (3, 6, 12, 24)  # 3 is the default


def transformer(inputs_longest: int) -> tuple[Settings, ...]:
    """Return the candidates of a transformer of RecTools for inputs of at most that many items.

    Its default of 100 tokens per list only makes training slower if lists are shorter, because all are padded to it.
    """
    length = min(100, inputs_longest)
    return tuple({"session_max_len": length, "n_factors": 64, "epochs": epochs} for epochs in EPOCHS)


def peers(inputs_longest: int) -> dict[str, Peer]:
    """Return all models by name."""
    nearest = "benchmarks.peers.implicit_models"
    networks = "benchmarks.peers.rectools_models"
    longest = transformer(inputs_longest)
    return {
        "implicit-cosine": Peer("implicit CosineRecommender", "implicit", nearest, "cosine", KNN),
        "implicit-tfidf": Peer("implicit TFIDFRecommender", "implicit", nearest, "tfidf", KNN),
        "implicit-bm25": Peer("implicit BM25Recommender", "implicit", nearest, "bm25", KNN),
        "implicit-als": Peer("implicit AlternatingLeastSquares", "implicit", nearest, "als", ALS),
        "lenskit-knn": Peer("LensKit ItemKNNScorer", "lenskit", "benchmarks.peers.lenskit_models", "item-knn", SAVED),
        "rectools-sasrec": Peer("RecTools SASRecModel", "rectools", networks, "sasrec", longest),
        "rectools-bert4rec": Peer("RecTools BERT4RecModel", "rectools", networks, "bert4rec", longest),
    }
