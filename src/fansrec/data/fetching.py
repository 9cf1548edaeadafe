"""Public sets over the network: found where they are already, downloaded where not, picked up where a try broke off."""

import http.client
import os
import shutil
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fansrec.data.public import PublicFile, PublicSet, data_folders, find, no_download, public_set
from fansrec.errors import BadInput, BadSetting, FansError, Unfinished
from fansrec.files import sha256, write_atomically

CHUNK = 1 << 16
TIMEOUT_S = 30.0

Progress = Callable[[int, int | None], None]  # bytes so far, bytes in all if the server says


@dataclass(frozen=True)
class Fetched:
    path: Path
    how: str  # found, copied, fetched
    verified: bool


def no_progress(done: int, total: int | None) -> None:
    """For callers without a screen."""


def fetch(name: str, to: Path | None = None, progress: Progress = no_progress) -> list[Fetched]:
    """Have a public set in `to`, or, without it, anywhere it will be found: nothing is downloaded twice."""
    set_ = public_set(name)
    folders = [*([to] if to else []), *data_folders()]
    lists = _at_hand(set_, set_.lists, folders, to) or _fetched(set_, folders[0] / name, progress)
    items = _at_hand(set_, (set_.items,), folders, to) if set_.items else None
    return [lists, items] if items else [lists]


def _at_hand(set_: PublicSet, forms: tuple[PublicFile, ...], folders: list[Path], to: Path | None) -> Fetched | None:
    found = find(set_.name, forms, folders)
    if found is None:
        return None
    path, form = found
    verified = form.sha256 is not None
    if to is None or path.parent == to / set_.name:
        return Fetched(path, "found", verified)
    copy = _writable(to / set_.name) / form.name
    write_atomically(copy, lambda temporary: shutil.copyfile(path, temporary))
    return Fetched(copy, f"copied from {path.parent}", verified)


def _fetched(set_: PublicSet, folder: Path, progress: Progress) -> Fetched:
    form = set_.download
    if form is None or form.url is None:
        raise BadInput(no_download(set_))
    target = _writable(folder) / form.name
    download(form.url, target, form.sha256, progress)
    return Fetched(target, "fetched", form.sha256 is not None)


def _writable(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadSetting(f"cannot make {folder} ({error.strerror}); choose another folder with --to") from error
    if not os.access(folder, os.W_OK):
        raise BadSetting(f"{folder} is not writable; choose another folder with --to")
    return folder


def download(url: str, target: Path, checksum: str | None, progress: Progress = no_progress) -> None:
    """Fill `target` from `url` by way of a `.part` file beside it, which stays if the download breaks off."""
    part = target.with_name(f"{target.name}.part")
    try:
        _receive(url, part, progress)
    except (OSError, http.client.HTTPException, KeyboardInterrupt) as error:
        raise _broken(url, part, error) from error
    _verify(url, part, checksum)
    part.replace(target)


def _receive(url: str, part: Path, progress: Progress) -> None:
    have = part.stat().st_size if part.exists() else 0
    wanted = {"Range": f"bytes={have}-"} if have else {}
    request = urllib.request.Request(url, headers={"User-Agent": "fansrec", **wanted})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
            _append(response, part, _start(response, part, have), progress)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not have:
            raise
        if error.headers.get("Content-Range") != f"bytes */{have}":  # else nothing is left to receive
            part.unlink()
            _receive(url, part, progress)


def _start(response: http.client.HTTPResponse, part: Path, have: int) -> int:
    """Where the answer goes on: a server that does not know ranges sends the whole, and the part starts anew."""
    if response.status != 206:
        return 0
    if not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
        part.unlink()
        raise ConnectionError("the server sent another range than the one asked for")
    return have


def _append(response: http.client.HTTPResponse, part: Path, done: int, progress: Progress) -> None:
    rest = response.headers.get("Content-Length")
    total = done + int(rest) if rest else None
    with part.open("ab" if done else "wb") as file:
        while chunk := response.read(CHUNK):
            file.write(chunk)
            done += len(chunk)
            progress(done, total)
    if total is not None and done < total:
        raise ConnectionError("the connection broke off")


def _broken(url: str, part: Path, error: BaseException) -> FansError:
    why = getattr(error, "reason", None) or str(error) or type(error).__name__
    if isinstance(error, urllib.error.HTTPError):
        why = f"the server answers {error.code} {error.reason}"
    kept = part.stat().st_size if part.exists() else 0
    if kept:
        return Unfinished(f"could not fetch {url} ({why}); {kept:,} bytes are kept in {part}, run it again to go on")
    return FansError(
        f"could not fetch {url} ({why}); check the network and run it again, or put the file into {part.parent}/"
    )


def _verify(url: str, part: Path, checksum: str | None) -> None:
    """Refuse, and keep nothing of, a file that is not the published one; without a checksum a zip proves itself."""
    wrong = None
    if checksum is not None and (got := sha256(part)) != checksum:
        wrong = f"its sha256 is {got}, not the published {checksum}"
    elif checksum is None and url.endswith(".zip") and not _sound_zip(part):
        wrong = "it is no sound zip file"
    if wrong:
        part.unlink()
        raise BadInput(f"{url} gave a wrong file ({wrong}); it was deleted, run it again or report the change")


def _sound_zip(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except zipfile.BadZipFile:
        return False
