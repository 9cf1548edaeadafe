"""The generation modes of models: how an answer is generated, depending on what the model can score."""

from fansrec.errors import BadSetting
from fansrec.models.contract import ContinuationModel, ScoresLists, ScoresNext, ScoresPositions
from fansrec.models.stored import AUTOREGRESSIVE as AUTOREGRESSIVE
from fansrec.models.stored import ONE_PASS as ONE_PASS
from fansrec.models.stored import RECALL as RECALL
from fansrec.models.stored import StoredModel


def generation_modes(model: object) -> list[str]:
    """Return the generation modes that a model supports; recall is always one of them."""
    if isinstance(model, StoredModel):
        return [*model.modes]
    supported = {
        ONE_PASS: isinstance(model, ScoresPositions | ScoresLists),
        AUTOREGRESSIVE: isinstance(model, ScoresNext),
        RECALL: True,
    }
    return [mode for mode, is_supported in supported.items() if is_supported]


def generation_mode(model: ContinuationModel | StoredModel, requested: str | None) -> str:
    """Return the requested generation mode, by default the model's own; raise BadSetting if it is not supported."""
    modes = generation_modes(model)
    if requested is None or requested in modes:
        return requested or model.generation
    raise BadSetting(f"{model.name} cannot be run {requested}; it can be run {' or '.join(modes)}")
