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
NEIGHBORS = (20, 50, 100, 200, 500, 1000, 2000)  # 20 is the default of implicit
KNN = tuple({"K": count} for count in NEIGHBORS)
REGULARIZATIONS, ALPHAS = (0.01, 10.0, 100.0), (1.0, 10.0, 40.0, 100.0)  # 0.01 and 1.0 are the defaults
ALS = tuple({"regularization": one, "alpha": alpha} for one in REGULARIZATIONS for alpha in ALPHAS)
SAVED: tuple[Settings, ...] = ({}, *({"save_nbrs": count} for count in NEIGHBORS))  # unlimited is the default
EPOCHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48)  # 3 is the default
TOKENS, FACTORS = 100, 64  # the defaults are 100 and 256


def transformer(length: int) -> tuple[Settings, ...]:
    """Return the candidates of a transformer of RecTools for inputs of about `length` items.

    All lists are padded to session_max_len, so its default only makes training slower if inputs are shorter. Positions
    are not used, although they are by default: they are counted from the end of a list, and what follows the last item
    of an input, which is the first half of a list, would be what ends lists (docs/explanation/peers.md has figures).
    """
    fixed = {"session_max_len": min(TOKENS, length), "n_factors": FACTORS, "use_pos_emb": False}
    return tuple(fixed | {"epochs": epochs} for epochs in EPOCHS)


def peers(length: int) -> dict[str, Peer]:
    """Return all models by name, for inputs of about `length` items."""
    nearest = "benchmarks.peers.implicit_models"
    networks = "benchmarks.peers.rectools_models"
    staged = transformer(length)
    return {
        "implicit-cosine": Peer("implicit CosineRecommender", "implicit", nearest, "cosine", KNN),
        "implicit-tfidf": Peer("implicit TFIDFRecommender", "implicit", nearest, "tfidf", KNN),
        "implicit-bm25": Peer("implicit BM25Recommender", "implicit", nearest, "bm25", KNN),
        "implicit-als": Peer("implicit AlternatingLeastSquares", "implicit", nearest, "als", ALS),
        "lenskit-knn": Peer("LensKit ItemKNNScorer", "lenskit", "benchmarks.peers.lenskit_models", "item-knn", SAVED),
        "rectools-sasrec": Peer("RecTools SASRecModel", "rectools", networks, "sasrec", staged),
        "rectools-bert4rec": Peer("RecTools BERT4RecModel", "rectools", networks, "bert4rec", staged),
    }
