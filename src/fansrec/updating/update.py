"""Updating a model: new, replaced and removed lists, and new and described items, without training."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from fansrec.artifact import Artifact
from fansrec.errors import BadInput, BadSetting
from fansrec.models.stored import StoredModel
from fansrec.updating.arrays import UPDATES, updated_arrays
from fansrec.updating.arrays import Change as ArrayChange
from fansrec.updating.borrowed import borrowing, with_borrowed
from fansrec.updating.changes import Change, SetItem
from fansrec.updating.evidence import gather
from fansrec.updating.items import (
    Items,
    categorize,
    given_categories,
    integers_of,
    items_of,
    new_vocabulary,
    without_unused,
)
from fansrec.updating.lists import ListChanges, list_changes, new_list_names, new_memory
from fansrec.updating.memory import Memory
from fansrec.updating.proxies import find_proxies
from fansrec.updating.records import to_json
from fansrec.updating.report import Report, report_of
from fansrec.updating.state import UPDATES as SECTION
from fansrec.updating.state import State, check_section, inverse, read_state, section_of
from fansrec.updating.writing import write_updated

__all__ = ["Report", "hash_after", "update", "write_updated"]


def update(artifact: Artifact, changes: Sequence[Change], keep_newest: int | None = None) -> tuple[Artifact, Report]:
    """Return the artifact after `changes`, one after the other, and what they changed; nothing is written.

    Only the newest `keep_newest` lists are kept; None: all. The result depends on the lists and descriptions at the end
    alone. It has the folder of `artifact`, and another hash if there was any change.
    """
    check_updatable(artifact)
    if keep_newest is not None and keep_newest < 1:
        raise BadSetting(f"--keep-newest is {keep_newest}; it must be at least 1")
    state = read_state(artifact)
    plan = list_changes(state.names, changes, keep_newest)
    described = [change for change in changes if isinstance(change, SetItem)]
    items = items_of(state, artifact.vocabulary, plan.new, described)
    grown = np.array([items.index[id_] for id_ in state.ids], dtype=np.int64)
    memory = state.memory.with_items(grown, len(items.ids))
    items, memory = without_unused(items, new_memory(memory, plan, items.index))
    if not len(memory):
        raise BadInput(f"no list of {artifact.folder} would be left; keep at least one, or add some")
    updated = _updated(artifact, state, items, memory, plan)
    updated = replace(updated, hash=hash_after(artifact.hash, changes, plan.dropped))
    return updated, report_of(artifact, updated, state, items, plan, described)


def check_updatable(artifact: Artifact) -> None:
    """Raise BadSetting if a model holds no lists that an update could change, BadArtifact if it cannot be read."""
    stored = artifact.stored
    if stored.name not in UPDATES or not artifact.remembered_lists:
        raise BadSetting(
            f"{artifact.folder} is a {stored.title} model without a list memory, so it cannot be updated; train it "
            "again with `fans train`, or update a model of `fans train --recipe best` or `--model vstan`"
        )
    check_section(artifact)


def _updated(artifact: Artifact, state: State, items: Items, memory: Memory, plan: ListChanges) -> Artifact:
    """Return the artifact with these items and lists, which are in the working order."""
    assert isinstance(artifact.stored, StoredModel)
    before, trained = artifact.vocabulary, state.trained
    named, grouped = items.column("names"), items.column("groups")
    given = given_categories(items, trained, before.category_names)
    proxies = find_proxies(items.new, np.arange(items.trained), memory.counts, grouped, named, given)
    evidence = gather(memory, items.new, proxies)
    categories = categorize(items, trained, before.category_names, memory, evidence, proxies)
    order = np.argsort(categories, kind="stable")
    places = state.places[: items.trained]
    held = with_borrowed(memory, items.new, proxies)
    trained_lists = int(plan.kept[: state.trained_lists].sum())
    share = trained_lists / len(memory)
    change = ArrayChange(trained, share, places, order, inverse(order), categories, memory, held, evidence)
    stored = artifact.stored
    arrays, config = updated_arrays(stored.name, stored.arrays, stored.config, change)
    vocabulary = new_vocabulary(items, order, categories, before, integers_of(items, before, places))
    known = {id_: name for id_, name in items.categories.items() if id_ in items.index}
    borrowed = [items.ids[item] for item in borrowing(memory, items.new, proxies).tolist()]
    section = section_of(trained, trained_lists, items.described, known, borrowed)
    return replace(
        artifact,
        stored=StoredModel(stored.kind, config, arrays),
        vocabulary=vocabulary,
        config=artifact.config | {"config": _plain(config), SECTION: section},
        counts=memory.counts[order],
        new_names=new_list_names(state.names, plan),
    )


def _plain(config: Any) -> dict[str, Any]:
    plain = asdict(config)
    return plain | {"category_starts": list(plain["category_starts"])}


def hash_after(before: str, changes: Sequence[Change], dropped: int = 0) -> str:
    """Return the hash of an artifact after changes: the same for the same changes, in however many updates.

    `before` is its hash before them, `dropped` the number of lists that were not kept.
    """
    found = before
    for change in changes:
        found = hashlib.sha256((found + json.dumps(to_json(change))).encode()).hexdigest()
    return hashlib.sha256(f"{found} {dropped}".encode()).hexdigest() if dropped else found
