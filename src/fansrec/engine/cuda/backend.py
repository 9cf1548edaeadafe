"""The fast GPU backend: which models it can run, and the engine for each."""

from typing import Any

from fansrec.engine.cuda import driver
from fansrec.engine.cuda.engine import CudaEngine
from fansrec.engine.cuda.hybrid import engine as hybrid
from fansrec.engine.cuda.linear import engine as linear
from fansrec.engine.cuda.support import is_sasrec, why_not_encoder
from fansrec.engine.modes import AUTOREGRESSIVE, ONE_PASS
from fansrec.models.fans import Fans
from fansrec.models.hybrid.model import HybridFans
from fansrec.models.linear.item_weights import ItemToItem
from fansrec.models.linear.popularity import Popularity
from fansrec.models.sequence.bert4rec import Bert4Rec

missing = driver.missing


def why_not(model: Any, generation: str) -> str | None:
    """Return why these kernels cannot run a model, in one line, or None if they can."""
    if isinstance(model, HybridFans):
        return hybrid.why_not(model, generation)
    if isinstance(model, ItemToItem | Popularity):
        return linear.why_not(model, generation)
    if not isinstance(model, Fans | Bert4Rec) and not is_sasrec(model):
        return (
            "the CUDA kernels support fans of both recipes, bert4rec, sasrec, the linear models and popularity "
            "(the CPU backend supports more)"
        )
    if generation not in _modes(model):
        return f"it does not run {generation}"
    config = model.config
    return why_not_encoder(model, config, config.category_starts, _is_two_stage(model))


def _modes(model: Any) -> tuple[str, ...]:
    if is_sasrec(model):
        return (AUTOREGRESSIVE,)
    return (ONE_PASS, AUTOREGRESSIVE) if isinstance(model, Bert4Rec) else (ONE_PASS,)


def _is_two_stage(model: Any) -> bool:
    return not is_sasrec(model) and hasattr(model.classifier, "local")


def open_backend(model: Any, items: int, generation: str) -> CudaEngine:
    """Return an engine for a model that is on a GPU."""
    if isinstance(model, HybridFans):
        return hybrid.HybridEngine(model, items, generation)
    if isinstance(model, ItemToItem | Popularity):
        return linear.LinearEngine(model, items, generation)
    return CudaEngine(model, items, generation)
