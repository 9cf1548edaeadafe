"""Autoregressive selection: the best item, then the next one given the list with that item."""

from fansrec.engine.decoding.limits import NONE, Limits, Selection
from fansrec.engine.decoding.masked_selection import MaskedSelection
from fansrec.models.contract import Steps


def select_autoregressively(steps: Steps, limits: Limits) -> Selection:
    """Select one item at a time; a list that may take no item has ended."""
    selection = MaskedSelection(limits)
    for position in range(limits.width):
        if position > 0:
            steps.append(selection.items[:, position - 1])
        selection.take_best(steps.scores(), position)
        ended = selection.items[:, position] == NONE
        if bool(ended.all()):
            break
        selection.blocked |= ended[:, None]
    return selection.result()
