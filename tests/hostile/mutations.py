"""Mutations of valid model folders, with a new manifest as a hostile author would write it.

`mutate(files, folder, choose)` writes one; all randomness comes from `choose`, so a seed gives the same folder.
"""

import hashlib
import os
import random
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fansrec.artifact import CONFIG, FORMAT, MANIFEST, WEIGHTS
from fansrec.artifact.manifest import _manifest_text
from fansrec.vocabulary import CATEGORIES_FILE, ITEMS_FILE
from hostile import tensor_mutations, text_mutations

Change = Callable[[bytes, random.Random], tuple[bytes, str]]
# The file, the change, and its weight.
CHANGES: tuple[tuple[str, Change, int], ...] = (
    (WEIGHTS, tensor_mutations.tensors, 50),
    (WEIGHTS, tensor_mutations.header, 4),
    (CONFIG, text_mutations.settings, 18),
    (CONFIG, text_mutations.starts, 4),
    (CONFIG, text_mutations.top, 5),
    (CONFIG, text_mutations.text, 3),
    (CATEGORIES_FILE, text_mutations.category_names, 3),
    (CATEGORIES_FILE, text_mutations.starts, 2),
    (CATEGORIES_FILE, text_mutations.text, 2),
    (ITEMS_FILE, text_mutations.lines, 5),
    (ITEMS_FILE, text_mutations.text, 2),
)
LINKS = ("/dev/zero", "/etc/passwd", "../outside", ".", "fifo")
NAMES = ("../outside", "/etc/passwd", "a/../../outside", "", ".", "\x00", "x" * 5000, "README.md/x", "\x1b[31mred")


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != MANIFEST}


def mutate(files: Mapping[str, bytes], folder: Path, choose: random.Random) -> str:
    """Write the files with one to two changes into an empty folder; return what was changed."""
    changed, done = dict(files), []
    special = choose.random()
    for _ in range(choose.choice((1, 1, 1, 2)) if special > 0.06 else 0):
        name, change, _ = choose.choices(CHANGES, [weight for *_, weight in CHANGES])[0]
        try:
            changed[name], what = change(changed[name], choose)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, struct.error):
            continue  # an earlier change made the file unreadable for this one
        done.append(f"{name}: {what}")
    for name, content in changed.items():
        (folder / name).write_bytes(content)
    manifest = manifest_of(changed)
    if special <= 0.03:
        done.append(_link(folder, choose))
    elif special <= 0.06:
        done.append(_manifest(manifest, choose))
    text = manifest if isinstance(manifest, str) else _manifest_text(manifest)
    (folder / MANIFEST).write_text(text, encoding="utf-8", errors="surrogatepass")
    return "; ".join(done)


def manifest_of(files: Mapping[str, bytes]) -> dict[str, Any]:
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
    return {"format": FORMAT, "fansrec": "0.1.0", "files": sums}


def _link(folder: Path, choose: random.Random) -> str:
    """Replace a file by a link or a named pipe."""
    name, target = choose.choice((CONFIG, WEIGHTS, ITEMS_FILE, CATEGORIES_FILE, "README.md")), choose.choice(LINKS)
    (folder / name).unlink()
    if target == "fifo":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to(target)
    return f"{name} is a link to {target}"


def _manifest(manifest: dict[str, Any], choose: random.Random) -> str:
    """Put names outside of the folder or invalid content into the manifest."""
    kind = choose.choice(("name", "name", "sum", "format", "files", "many", "gone"))
    if kind == "name":
        manifest["files"][choose.choice(NAMES)] = hashlib.sha256(b"").hexdigest()
    elif kind == "sum":
        manifest["files"][CONFIG] = choose.choice(text_mutations.HOSTILE)
    elif kind == "many":
        manifest["files"] |= {f"f{n}": "0" * 64 for n in range(20_000)}
    elif kind == "gone":
        del manifest["files"][choose.choice(list(manifest["files"]))]
    else:
        manifest[kind] = choose.choice(text_mutations.HOSTILE)
    return f"manifest: {kind}"
