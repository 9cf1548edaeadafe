"""What an update changed, for people and programs."""

from collections.abc import Sequence
from dataclasses import dataclass

from fansrec.artifact import Artifact
from fansrec.printable import counted
from fansrec.updating.changes import SetItem
from fansrec.updating.items import Items
from fansrec.updating.lists import ListChanges
from fansrec.updating.state import State


@dataclass(frozen=True)
class Report:
    """What an update added and removed, and which parts of the model it changed.

    Attributes:
        lists_before: Number of lists before the update.
        lists: Number of lists after it.
        lists_added: New lists.
        lists_replaced: Lists whose id was known.
        lists_removed: Lists that were removed by id.
        lists_dropped: The oldest lists, which `keep_newest` removed.
        unknown_lists: Ids of lists that were to be removed, and are not there.
        items_before: Number of items before the update.
        items: Number of items after it.
        items_added: New items.
        items_removed: Items that no list and no description has any more.
        items_described: Known items that were described again.
        parts_updated: What changed, by the name of the part.
        parts_kept: Why other parts did not change.
        notes: Given categories that could not be used.
    """

    lists_before: int
    lists: int
    lists_added: int
    lists_replaced: int
    lists_removed: int
    lists_dropped: int
    unknown_lists: tuple[str, ...]
    items_before: int
    items: int
    items_added: int
    items_removed: int
    items_described: int
    parts_updated: dict[str, str]
    parts_kept: dict[str, str]
    notes: tuple[str, ...] = ()


def report_of(
    before: Artifact, after: Artifact, state: State, items: Items, plan: ListChanges, described: Sequence[SetItem]
) -> Report:
    """Return the report of an update from `before` to `after`."""
    known = set(state.ids)
    new = sum(id_ not in known for id_ in items.ids)
    updated, kept = _parts(after, len(items.new))
    return Report(
        lists_before=before.remembered_lists,
        lists=after.remembered_lists,
        lists_added=plan.added,
        lists_replaced=plan.replaced,
        lists_removed=plan.removed,
        lists_dropped=plan.dropped,
        unknown_lists=tuple(plan.unknown),
        items_before=len(state.ids),
        items=len(items.ids),
        items_added=new,
        items_removed=len(known) + new - len(items.ids),
        items_described=len({str(one.id) for one in described} & known),
        parts_updated=updated,
        parts_kept=kept,
        notes=_notes(after, items, described),
    )


def _parts(after: Artifact, new: int) -> tuple[dict[str, str], dict[str, str]]:
    """Return the parts of a model that follow its lists, and those that do not."""
    borrowed = len(after.config["updates"]["borrowed"])
    beside = f", and {counted(borrowed, 'item')} of no list in lists of similar items" if borrowed else ""
    updated = {
        "list memory": f"{counted(after.remembered_lists, 'list')}{beside}",
        "counts": "number of lists of every item",
    }
    kept: dict[str, str] = {}
    if after.stored.name == "vstan":
        return updated | {"popularity": "share of every item in the lists"}, kept
    composed = f"composed for {counted(new, 'item that was', 'items that were')} not trained"
    if new:
        updated["network"] = f"vectors and biases {composed}; those of trained items stay until the next training"
        updated["linear part"] = f"weights {composed}; those among trained items stay until the next training"
    else:
        kept["network"] = "no item is new; lists change it in the next training"
        kept["linear part"] = "no item is new; lists change it in the next training"
    if share := _share_of_weights(after):
        updated["mixture"] = f"network and linear part weigh {share:.0%} of their trained weights beside the memory"
    if not after.stored.config.linear.neighbors:
        updated.pop("linear part", None)
        kept.pop("linear part", None)
    return updated, kept


def _share_of_weights(after: Artifact) -> float | None:
    """Return by which factor parts that learned from fewer of the lists weigh less; None if they do not."""
    weights, trained = after.stored.config.weights, after.config["updates"]
    pairs = (weights.network, trained["network_weight"]), (weights.linear, trained["linear_weight"])
    return next((now / before for now, before in pairs if now != before), None)


def _notes(after: Artifact, items: Items, described: Sequence[SetItem]) -> tuple[str, ...]:
    known = set(after.vocabulary.category_names)
    given = [one for one in described if one.category is not None]
    unknown = sum(one.category not in known for one in given)
    trained = sum(items.index[str(one.id)] < items.trained for one in given)
    notes = []
    if unknown:
        notes.append(f"the model does not have the category of {counted(unknown, 'item')}; it follows from the lists")
    if trained:
        notes.append(f"the category of {counted(trained, 'trained item')} cannot change")
    return tuple(notes)
