"""Write what happens in an app to a running service: new and changed playlists, new songs, removed playlists.

    FANS_KEY=fans_… python follow.py http://127.0.0.1:8080 changes.jsonl --watch s0001 s0007
    your-app | FANS_KEY=fans_… python follow.py http://127.0.0.1:8080 -

Each line is one change: {"list": {"id": …, "items": […]}}, {"item": {"id": …, "name": …}} or {"remove": "p81"}.
A file is read as it grows; changes.jsonl.offset says how much of it the service has stored.
"""

import argparse
import logging
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from writer import patiently, store_lines, takes_writes

import fansrec

AT_ONCE = 500  # changes in a request, which is one fsync; the service's limit, `max_changes`, is 1,000
POLL_S = 0.2


def follow(client: fansrec.Client, path: str, watched: list[str]) -> None:
    """Store the changes of a file or of standard input, and show how the watched list is continued."""
    if not patiently(lambda: takes_writes(client)):
        raise fansrec.FansError(
            "the service takes no writes; start it with --writes FOLDER, --keys FILE and a model that can be updated"
        )
    if watched:
        show(client, watched, 0)
    is_file, mark = path != "-", Path(f"{path}.offset")
    source = os.open(path, os.O_RDONLY) if is_file else sys.stdin.fileno()
    offset = read_offset(mark, os.fstat(source).st_size) if is_file and mark.exists() else 0
    if offset:
        os.lseek(source, offset, os.SEEK_SET)
    for lines in arriving(source, is_file):
        seq = store_lines(client, lines)
        offset += sum(len(line) + 1 for line in lines)
        if is_file:  # after the writes: if the program is killed before this, it sends them again, which is harmless
            replace_text(mark, str(offset))
        if watched and seq:
            show(client, watched, seq)


def arriving(source: int, is_file: bool) -> Iterator[list[bytes]]:
    """Yield complete lines as they arrive, all that are there up to AT_ONCE; a pipe ends, a file does not."""
    rest = b""
    while True:
        piece = os.read(source, 1 << 16)  # of a pipe: waits until something is there, and returns that
        if not piece and is_file:
            time.sleep(POLL_S)
            continue
        *lines, rest = (rest + piece).split(b"\n") if piece else (rest, b"")
        yield from (lines[start : start + AT_ONCE] for start in range(0, len(lines), AT_ONCE))
        if not piece:
            return


def read_offset(mark: Path, size: int) -> int:
    """Return how many bytes of a file of this size are stored."""
    try:
        if 0 <= (offset := int(mark.read_text())) <= size:
            return offset
    except ValueError:
        pass
    raise fansrec.FansError(f"{mark} is not a position in the file of changes; remove it to send all changes again")


def replace_text(path: Path, text: str) -> None:
    """Replace the text of a file: after a crash it has the old or the new one, never a part."""
    new = path.with_name(f"{path.name}.new")
    with new.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())  # the content is on the disk before the name
    new.replace(path)


def show(client: fansrec.Client, watched: list[str], seq: int) -> None:
    """Print how the list is continued once all workers have the write, which is a moment after it was stored."""
    for _ in range(100):
        if all(model["seq"] is None or model["seq"] >= seq for model in patiently(client.models)["models"]):
            break
        time.sleep(0.1)
    [answer] = patiently(lambda: client.continue_lists([watched], k=5, fallback="popular"))
    print(f"write {seq}: {' '.join(map(str, answer.items))}" if seq else f"before: {' '.join(map(str, answer.items))}")
    sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="address of the service")
    parser.add_argument("changes", help="file of changes, or - for standard input")
    parser.add_argument("--watch", nargs="+", default=[], metavar="ITEM", help="show how this list is continued")
    options = parser.parse_args()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    try:
        with fansrec.Client(options.url, os.environ.get("FANS_KEY")) as service:
            follow(service, options.changes, options.watch)
    except (fansrec.FansError, OSError) as error:
        sys.exit(f"follow: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
