"""Download of public sets: files that exist are reused, interrupted downloads are resumed."""

import hashlib
import http.client
import os
import shutil
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fansrec.data.conversions import CONVERSIONS, write_table
from fansrec.data.locating import data_folders, find, manual_download
from fansrec.data.public import PublicFile, PublicSet, public_set
from fansrec.errors import BadInput, BadSetting, FansError, Unfinished
from fansrec.files import sha256, write_atomically

CHUNK = 1 << 16
TIMEOUT_S = 30.0

Progress = Callable[[int, int | None], None]  # bytes received, total bytes if the server sends a length


@dataclass(frozen=True)
class Fetched:
    path: Path
    how: str  # found, copied, fetched
    verified: bool


def fetch(name: str, to: Path | None = None, progress: Progress = lambda done, total: None) -> list[Fetched]:
    """Make sure that a public set is in the folder `to`, or without `to` in any data folder; return its files."""
    set_ = public_set(name)
    folders = [*([to] if to else []), *data_folders()]
    lists = _reuse(set_, set_.lists, folders, to)
    items = _reuse(set_, (set_.items,), folders, to) if set_.items else None
    if set_.sources and not (lists and items):
        return _convert(set_, folders[0] / set_.folder, progress)
    lists = lists or _download(set_, folders[0] / set_.folder, progress)
    return [lists, items] if items else [lists]


def _reuse(set_: PublicSet, forms: tuple[PublicFile, ...], folders: list[Path], to: Path | None) -> Fetched | None:
    found = find(set_, forms, folders)
    if found is None:
        return None
    path, form = found
    verified = form.sha256 is not None
    if to is None or path.parent == to / set_.folder:
        return Fetched(path, "found", verified)
    copy = _writable(to / set_.folder) / form.name
    write_atomically(copy, lambda temporary: shutil.copyfile(path, temporary))
    return Fetched(copy, f"copied from {path.parent}", verified)


def _download(set_: PublicSet, folder: Path, progress: Progress) -> Fetched:
    form = set_.download
    if form is None or form.url is None:
        raise BadInput(manual_download(set_))
    target = _writable(folder) / form.name
    download(form.url, target, form.sha256, progress)
    return Fetched(target, "fetched", form.sha256 is not None)


def _convert(set_: PublicSet, folder: Path, progress: Progress) -> list[Fetched]:
    """Download the sources of a set and convert them; sources that were downloaded before are not downloaded again."""
    sources = [_writable(folder / "sources") / url.rsplit("/", 1)[1] for url in set_.sources]
    for url, path in zip(set_.sources, sources, strict=True):
        if not path.is_file():
            download(url, path, None, progress)
    made = CONVERSIONS[set_.name](sources)
    forms = [form for form in (set_.lists[0], set_.items) if form]
    same = all(hashlib.sha256(text.encode()).hexdigest() == form.sha256 for text, form in zip(made, forms, strict=True))
    target = folder if same else _writable(folder / "other-version")
    for text, form in zip(made, forms, strict=True):
        write_table(target / form.name, text)
    shutil.rmtree(folder / "sources")
    if not same:
        lists, items = (target / form.name for form in forms)
        raise BadInput(
            f"the source of {set_.name} is not the version of the published figures; its lists are in {target}, "
            f"prepare them with `fans prepare {lists} --items {items} --out CORPUS`"
        )
    return [Fetched(folder / form.name, f"made from {len(sources)} files", True) for form in forms]


def _writable(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadSetting(f"cannot create {folder} ({error.strerror}); choose another folder with --to") from error
    if not os.access(folder, os.W_OK):
        raise BadSetting(f"{folder} is not writable; choose another folder with --to")
    return folder


def download(url: str, target: Path, checksum: str | None, progress: Progress = lambda done, total: None) -> None:
    """Download `url` to `target` through a `.part` file next to it, which stays if the download is interrupted."""
    part = target.with_name(f"{target.name}.part")
    try:
        _receive(url, part, progress)
    except (OSError, http.client.HTTPException, KeyboardInterrupt) as error:
        raise _interrupted(url, part, error) from error
    _verify(url, part, checksum)
    part.replace(target)


def _receive(url: str, part: Path, progress: Progress) -> None:
    done = part.stat().st_size if part.exists() else 0
    range_header = {"Range": f"bytes={done}-"} if done else {}
    request = urllib.request.Request(url, headers={"User-Agent": "fansrec", **range_header})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
            _append(response, part, _offset(response, part, done), progress)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not done:
            raise
        if error.headers.get("Content-Range") != f"bytes */{done}":  # otherwise the file is complete
            part.unlink()
            _receive(url, part, progress)


def _offset(response: http.client.HTTPResponse, part: Path, done: int) -> int:
    """Return the offset at which the response starts: 0 if the server does not support ranges."""
    if response.status != 206:
        return 0
    if not response.headers.get("Content-Range", "").startswith(f"bytes {done}-"):
        part.unlink()
        raise ConnectionError("the server sent another range than the requested one")
    return done


def _append(response: http.client.HTTPResponse, part: Path, done: int, progress: Progress) -> None:
    rest = response.headers.get("Content-Length")
    total = done + int(rest) if rest else None
    with part.open("ab" if done else "wb") as file:
        while chunk := response.read(CHUNK):
            file.write(chunk)
            done += len(chunk)
            progress(done, total)
    if total is not None and done < total:
        raise ConnectionError("the connection was lost")


def _interrupted(url: str, part: Path, error: BaseException) -> FansError:
    reason = getattr(error, "reason", None) or str(error) or type(error).__name__
    if isinstance(error, urllib.error.HTTPError):
        reason = f"the server answers {error.code} {error.reason}"
    kept = part.stat().st_size if part.exists() else 0
    if kept:
        return Unfinished(
            f"could not fetch {url} ({reason}); {kept:,} bytes are kept in {part}, run the command again to resume"
        )
    return FansError(
        f"could not fetch {url} ({reason}); check the network and run the command again, "
        f"or put the file into {part.parent}/"
    )


def _verify(url: str, part: Path, checksum: str | None) -> None:
    """Delete and refuse a file that is not the published one; without a checksum, test the zip file itself."""
    problem = None
    if checksum is not None and (got := sha256(part)) != checksum:
        problem = f"its sha256 is {got}, not the published {checksum}"
    elif checksum is None and url.endswith(".zip") and not _is_valid_zip(part):
        problem = "it is not a valid zip file"
    if problem:
        part.unlink()
        raise BadInput(
            f"{url} returned a wrong file ({problem}); it was deleted, run the command again or report the change"
        )


def _is_valid_zip(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except zipfile.BadZipFile:
        return False
