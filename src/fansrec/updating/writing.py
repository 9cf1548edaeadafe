"""Writing an updated artifact. Needs no torch."""

import json
import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from fansrec.artifact import CONFIG, COUNTS, MANIFEST, WEIGHTS, Artifact, seal
from fansrec.files import MAX_JSON_BYTES, new_folder, read_json, refuse_existing, write_bytes, write_json, write_text
from fansrec.models.stored import StoredModel
from fansrec.vocabulary import LISTS_FILE

CARD = "README.md"
NOTE = "\n## Updates\n\n"


def write_updated(folder: Path, artifact: Artifact, force: bool = False) -> None:
    """Write a complete artifact, or nothing if that fails; with `force` an artifact that exists is replaced."""
    assert isinstance(artifact.stored, StoredModel)
    refuse_existing(folder, "the model", force, [MANIFEST])
    with new_folder(folder, force) as new:
        _copy_other_files(artifact.folder, new)
        save_file({name: np.asarray(array, order="C") for name, array in artifact.stored.arrays.items()}, new / WEIGHTS)
        for name, content in artifact.vocabulary.files().items():
            write_bytes(new / name, content)
        write_json(new / CONFIG, artifact.config)
        text = "" if artifact.counts is None else json.dumps(artifact.counts.tolist(), separators=(",", ":"))
        if 0 < len(text) < MAX_JSON_BYTES:
            write_text(new / COUNTS, text + "\n")
        if artifact.list_names is not None:
            write_bytes(new / LISTS_FILE, artifact.list_names.file())
        write_text(new / CARD, _card(artifact))
        seal(new)


def _copy_other_files(old: Path, new: Path) -> None:
    """Copy what describes the training: the figures of its epochs, plots."""
    written = {CONFIG, COUNTS, WEIGHTS, LISTS_FILE, CARD}
    for name in read_json(old / MANIFEST)["files"]:
        if name not in written:
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(old / name, new / name)


def _card(artifact: Artifact) -> str:
    """Return the model card with a section on updates."""
    path = artifact.folder / CARD
    card = path.read_text(encoding="utf-8") if path.is_file() else f"# {artifact.stored.title}\n"
    trained = sum(artifact.config["updates"]["trained_items"])
    new = len(artifact.vocabulary) - trained
    updates = (
        f"`fans update` has changed the lists of this model since it was trained. It holds "
        f"{artifact.remembered_lists:,} lists, and has {trained:,} items that were trained and {new:,} that were not. "
        "Data and figures above are those of the training.\n"
    )
    return card.split(NOTE)[0] + NOTE + updates
