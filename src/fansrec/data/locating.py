"""Finding the files of public sets on this machine."""

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import Any, cast

from fansrec.data.public import PUBLIC, PublicFile, PublicSet, public_set
from fansrec.data.settings import Preparation
from fansrec.errors import BadInput
from fansrec.files import sha256


def data_folders() -> list[Path]:
    """Return the folders to search for sets, $FANS_DATA if set and the cache; downloads go to the first of them."""
    own = os.environ.get("FANS_DATA")
    cache = Path.home() / ".cache" / "fansrec"
    return [Path(own).expanduser(), cache] if own else [cache]


def find(set_: PublicSet, forms: Iterable[PublicFile], folders: Iterable[Path]) -> tuple[Path, PublicFile] | None:
    """Return the first existing file NAME/FILE of a set in the folders; refuse it if its checksum is wrong."""
    candidates = ((folder / set_.folder / form.name, form) for folder in folders for form in forms)
    found = next(((path, form) for path, form in candidates if path.is_file()), None)
    if found is not None and found[1].sha256 not in (None, checksum(*found)):
        raise BadInput(
            f"{found[0]} is not the published file (its sha256 differs); "
            f"remove it, then run: fans data fetch {set_.name}"
        )
    return found


def checksum(path: Path, form: PublicFile) -> str:
    """Return the SHA-256 of a file, or of its decompressed content if `form` has that one."""
    if not form.unpacked:
        return sha256(path)
    try:
        with gzip.open(path) as file:
            return hashlib.file_digest(cast(BytesIO, file), "sha256").hexdigest()
    except (OSError, EOFError, zlib.error):
        return "damaged"


def locate(name: str) -> Path:
    """Return the lists file of a public set on this machine, with its checksum verified if known."""
    set_ = public_set(name)
    found = find(set_, set_.lists, data_folders())
    if found is None:
        raise BadInput(
            f"the public set {name} is not on this machine; get it with: fans data fetch {name}"
            if set_.download or set_.sources
            else manual_download(set_)
        )
    return found[0]


def items_file(name: str) -> Path | None:
    """Return the items file of a public set, or None if it has none."""
    set_ = public_set(name)
    found = find(set_, (set_.items,), data_folders()) if set_.items else None
    return found[0] if found else None


def locate_source(source: Any, items: Any = None) -> tuple[Any, Any, Preparation | PublicSet]:
    """Return the file and the items file of a source that may name a public set, and what has its default filter."""
    if not isinstance(source, str) or Path(source).is_file():
        return source, items, Preparation()
    if source in PUBLIC:
        return str(locate(source)), items_file(source) if items is None else items, PUBLIC[source]
    if "://" in source:
        raise BadInput(f"{source} is a URL, which needs --engine ray; add it, or give a local file")
    if Path(source).is_dir():
        raise BadInput(
            f"{source} is a folder; give one of its files, or use --engine ray, which accepts folders of shards"
        )
    raise BadInput(f"{source} is neither a file nor the name of a public data set; `fans data list` shows the names")


def manual_download(set_: PublicSet) -> str:
    files = " and ".join(file.name for file in (*set_.lists, *filter(None, [set_.items])))
    where = f"$FANS_DATA/{set_.folder}/"
    how = f"; {set_.steps} shows how to make them" if set_.steps else ""
    return f"{set_.name} cannot be downloaded ({set_.where}); put {files} into {where} to use it{how}"
