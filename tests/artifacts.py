"""Small valid model folders of every kind, and ways to change one and seal it again, as a hostile author would."""

import json
from collections.abc import Callable, Collection
from dataclasses import asdict, replace
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from fansrec.artifact import CONFIG, WEIGHTS, seal, write_artifact
from fansrec.data.corpus import Corpus, fingerprint
from fansrec.data.lists import Lists
from fansrec.models.config import setting_name, settings_of
from fansrec.models.hybrid.model import LinearPart
from fansrec.models.linear.item_weights import prune
from fansrec.models.linear.popularity import list_counts
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.models.registry import entry, names
from fansrec.training.plan import make_plan
from fansrec.training.settings import known_names
from fansrec.vocabulary import LISTS_FILE, ListNames
from worlds import SMALL, walks

# One folder of each model, and of each variant with tensors of its own. `best` has a memory and a linear part.
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in names()},
    "fans-vanilla": ("fans", {"classifier": "vanilla"}),
    "ease-pruned": ("ease", {"neighbours": 5}),  # words: keep
    "best": ("fans", {"recipe": "best"}),
}
LINEAR_NEIGHBORS = 6


def write_kind(folder: Path, kind: str, corpus: Corpus | None = None) -> Path:
    """Write a valid folder of one of KINDS: fitted if the model can be, else with random weights; return it."""
    corpus = corpus or walks(lists=40)
    name, settings = KINDS[kind]
    recipe = settings.get("recipe", "paper")
    known = known_names(name, recipe)
    small = {setting: value for setting, value in SMALL.items() if setting in known}
    torch.manual_seed(0)
    plan = make_plan(name, small | settings, corpus)
    model = plan.build()
    if hasattr(model, "fit"):
        model.fit(corpus.items, corpus.offsets)
    if model.name == "fans-hybrid":
        model = _with_memory(model, corpus)
    folder.mkdir(parents=True, exist_ok=True)
    config = {"model": plan.model, "config": asdict(model.config), "training": {"recipe": recipe}}
    counts = list_counts(corpus.items, corpus.offsets, len(corpus.vocabulary))
    write_artifact(folder, model, corpus.vocabulary, config, f"# {kind}\n", counts)
    return folder


def _with_memory(model: Any, corpus: Corpus) -> Any:
    """Return the same network with a list memory and a linear part of the corpus."""
    items = len(corpus.vocabulary)
    linear = LinearPart(items, LINEAR_NEIGHBORS)
    linear.assign(prune(torch.rand(items, items).fill_diagonal_(0), LINEAR_NEIGHBORS))
    made = model.with_parts(model.config, ListMemory.of(items, corpus.items, corpus.offsets), linear)
    made.start(corpus.items, corpus.offsets)
    return made


def song_lists(without: Collection[int] = ()) -> Corpus:
    """Return lists l0 to l39, but those `without`, of items i0 to i59 in 4 categories, with names and groups."""
    corpus = walks(lists=40)
    kept = np.array([n for n in range(40) if n not in without])
    lists = Lists(corpus.items, corpus.offsets).keep_lists(np.isin(np.arange(40), kept))
    named = {"names": [f"Song number {n}" for n in range(60)], "groups": [f"artist {n // 5}" for n in range(60)]}
    return replace(
        corpus,
        items=lists.items,
        offsets=lists.offsets,
        parts=corpus.parts[kept],
        vocabulary=replace(corpus.vocabulary, **named),
        list_names=ListNames([f"l{n}" for n in kept], ["First" if n == 0 else None for n in kept]),
    )


def write_songs(folder: Path, kind: str, corpus: Corpus | None = None) -> Path:
    """Write a model of these lists, by default `song_lists()`, and return its folder."""
    corpus = corpus or song_lists()
    assert corpus.list_names is not None
    write_kind(folder, kind, corpus)
    change_json(folder, lambda config: config.update(fingerprint=fingerprint(corpus)))
    write_file(folder, LISTS_FILE, corpus.list_names.file())
    return folder


def reseal(folder: Path) -> None:
    """Write a manifest that fits whatever files the folder now holds."""
    seal(folder)


def change_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    """Let `change` edit the tensors by name, in place, and seal the folder again."""
    weights = {name: tensor.clone() for name, tensor in load_file(folder / WEIGHTS).items()}
    change(weights)
    save_file({name: tensor.contiguous() for name, tensor in weights.items()}, folder / WEIGHTS)
    reseal(folder)


def change_json(folder: Path, change: Callable[[dict[str, Any]], object], name: str = CONFIG) -> None:
    """Let `change` edit a JSON file's content in place (`config.json` by default), and seal the folder again."""
    content = json.loads((folder / name).read_text(encoding="utf-8"))
    change(content)
    write_file(folder, name, json.dumps(content).encode())


def change_settings(folder: Path, **settings: Any) -> None:
    """Replace settings of the model in `config.json`, by the names under which users set them, and seal it again."""
    change_json(folder, lambda content: _replace(content, settings))


def _replace(content: dict[str, Any], settings: dict[str, Any]) -> None:
    paths = {setting_name(one): path for path, one in settings_of(entry(content["model"]).config)}
    for name, value in settings.items():
        *section, own_name = paths.get(name, (name,))
        place = content["config"][section[0]] if section else content["config"]
        place[own_name] = value


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the settings in `config.json` by the names under which users set them."""
    content = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    paths = settings_of(entry(content["model"]).config)
    return {setting_name(one): reduce(getitem, path, content["config"]) for path, one in paths}


def write_file(folder: Path, name: str, content: bytes) -> None:
    """Replace a file's bytes, and seal the folder again."""
    (folder / name).write_bytes(content)
    reseal(folder)
