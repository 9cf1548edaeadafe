"""Public sets whose source has another form: its files become lists.tsv.gz and items.tsv.gz.

Items are numbered in the order of their first occurrence, so that equal sources give equal files.
"""

import gzip
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from fansrec.errors import BadInput
from fansrec.files import parse_json, write_atomically

MAX_JSON_BYTES = 256 << 20


class Tables(NamedTuple):
    """The text of the two files."""

    lists: str
    items: str


def tables(columns: Sequence[str], rows: Iterable[tuple[Sequence[str], Sequence[str]]], name: str) -> Tables:
    """Return the tables of rows (values of the first columns, item names); `name` is the column of item names."""
    numbers: dict[str, int] = {}
    lines = ["\t".join((*columns, "items"))]
    for values, items in rows:
        indices = " ".join(str(numbers.setdefault(item, len(numbers))) for item in items)
        lines.append("\t".join((*values, indices)))
    names = [f"item\t{name}", *(f"{number}\t{item}" for item, number in numbers.items())]
    return Tables("\n".join(lines) + "\n", "\n".join(names) + "\n")


def from_gdshowsdb(sources: Sequence[Path]) -> Tables:
    """Return the concerts of all years that have songs; `sources` are the YAML files of the years."""
    rows = (row for source in sources for row in _concerts(source))
    return tables(("show_date", "venue"), rows, "title")


ENTRY = re.compile(r"(?P<indent> *)(?P<dash>- )?:(?P<key>\w+):(?: (?P<value>.*))?")
DATE = re.compile(r"['\"]?(\d{4}/\d{2}/\d{2}[\w/]*)['\"]?:")


def _concerts(source: Path) -> Iterator[tuple[list[str], list[str]]]:
    """Yield date, place and songs of each concert. The files have one form, so that no YAML library is needed."""
    date, place, songs = "", dict[str, str](), list[str]()
    for key, value in [*_entries(source), ("date", "")]:
        if key == "date":
            if songs:
                where = ", ".join(filter(None, (place.get(part) for part in ("venue", "city", "state"))))
                yield [date, where], songs
            date, place, songs = value, {}, []
        elif key == "name":
            songs.append(value)
        else:
            place[key] = value


def _entries(source: Path) -> list[tuple[str, str]]:
    """Return keys and values; a line that continues the value of the line before is added to it."""
    entries: list[tuple[str, str]] = []
    for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), start=1):
        if line == "---" or not line.strip():
            continue
        if found := DATE.fullmatch(line):
            entries.append(("date", found[1]))
        elif found := ENTRY.fullmatch(line):
            entries.append((found["key"], found["value"] or ""))
        elif line.startswith(" ") and entries:
            entries[-1] = (entries[-1][0], f"{entries[-1][1]} {line.strip()}")
        else:
            raise BadInput(f"{source.name}, line {number}: {line!r:.80} has another form than expected")
    return [(key, _scalar(value)) for key, value in entries]


def _scalar(text: str) -> str:
    """Return the text of a YAML scalar: plain, or in single or double quotes."""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) > 1 and text[0] == text[-1] == '"':
        return str(json.loads(text))
    return "" if text in ("~", "null") else text


def from_whats_cooking(sources: Sequence[Path]) -> Tables:
    """Return the recipes in a zip file with `train.json`, an array of {id, cuisine, ingredients}."""
    try:
        with zipfile.ZipFile(sources[0]) as archive:
            name = next(name for name in archive.namelist() if Path(name).name == "train.json")
            with archive.open(name) as file:
                recipes = parse_json(file.read(MAX_JSON_BYTES))
        rows = [([str(one["id"]), str(one["cuisine"])], [str(item) for item in one["ingredients"]]) for one in recipes]
    except (zipfile.BadZipFile, StopIteration, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{sources[0].name} has another form than expected ({type(error).__name__}: {error})") from error
    return tables(("list_id", "cuisine"), rows, "name")


CONVERSIONS: dict[str, Callable[[Sequence[Path]], Tables]] = {
    "grateful-dead": from_gdshowsdb,
    "recipes": from_whats_cooking,
}


def write_table(path: Path, text: str) -> None:
    """Write a compressed table; the same text gives the same bytes."""
    content = gzip.compress(text.encode(), mtime=0)
    write_atomically(path, lambda temporary: temporary.write_bytes(content))
