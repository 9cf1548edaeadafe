"""Measure the search for items by name, and the time to build its index.

    python benchmarks/search_large.py 1000000

Names are generated: words of syllables with a Zipf distribution, by artists with different numbers of songs. The index
is built in its own process, as in the service. Then typing is simulated: every prefix of random names, and whole names
with one or two typing errors. The file system's cache is warm.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from fansrec.api.answers import FoundItem
from fansrec.files import write_bytes
from fansrec.serving.search.item_index import ItemIndex
from fansrec.vocabulary import Vocabulary

CONSONANTS = [*"bcdfghjklmnprstvwz", "br", "ch", "cl", "st", "tr", "th"]
SYLLABLES = [consonant + vowel for consonant in CONSONANTS for vowel in "aeiou"]
ENDINGS = ["", "", "n", "r", "s", "l", "ck", "ng", "y"]
THREADS = 4


def generate(items: int, seed: int = 0) -> Vocabulary:
    draw = np.random.default_rng(seed)
    known = distinct_words(max(1000, items // 4), random.Random(seed))
    chosen = zipf(draw, len(known), (items, 5))
    sizes = draw.choice([1, 2, 3, 4, 5], items, p=[0.15, 0.3, 0.3, 0.15, 0.1])
    names = [
        " ".join(known[word] for word in row[:size]).title() for row, size in zip(chosen.tolist(), sizes, strict=True)
    ]
    artists = [
        " ".join(known[word] for word in row).title() for row in draw.integers(len(known), size=(items // 12 + 1, 2))
    ]
    groups = [artists[index] for index in zipf(draw, len(artists), items).tolist()]
    return Vocabulary(
        [f"track-{item:07d}" for item in range(items)],
        np.linspace(0, items, 11).astype(np.int64),
        names,
        groups,
        [f"category {category}" for category in range(10)],
    )


def distinct_words(count: int, draw: random.Random) -> list[str]:
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(draw.choices(SYLLABLES, k=draw.choice([1, 2, 2, 3, 3, 4]))) + draw.choice(ENDINGS)] = None
    return list(words)


def zipf(draw: np.random.Generator, count: int, shape: int | tuple[int, ...]) -> np.ndarray:
    weights = 1 / np.arange(10, count + 10)
    return np.searchsorted(np.cumsum(weights / weights.sum()), draw.random(shape)).clip(max=count - 1)


def build(run: Path, folder: Path) -> None:
    began = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "fansrec.serving.search.index", str(run), str(folder)], stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit("the index could not be built")
    seconds, (path,) = time.perf_counter() - began, folder.glob("*.sqlite")
    print(
        f"built in {seconds:.1f} s ({usage.ru_utime + usage.ru_stime:.1f} s CPU time), "
        f"peak memory {usage.ru_maxrss / 1024:.0f} MB, {path.stat().st_size / 1e6:.0f} MB on disk",
        flush=True,
    )


def mistyped(text: str, errors: int, draw: random.Random) -> str:
    for _ in range(errors):
        at = draw.randrange(1, max(2, len(text) - 1))
        letter = draw.choice("abcdefghijklmnopqrstuvwxyz")
        text = draw.choice(
            [
                text[:at] + text[at + 1 :],
                text[:at] + letter + text[at:],
                text[:at] + letter + text[at + 1 :],
                text[:at] + text[at : at + 2][::-1] + text[at + 2 :],
            ]
        )
    return text


def typing(vocabulary: Vocabulary, draw: random.Random, people: int) -> Iterator[tuple[str, str, str]]:
    """Yield the group of the measurement, the typed text and the intended name."""
    for _ in range(people):
        texts = draw.choice([vocabulary.names, vocabulary.groups])
        name = str(draw.choice(texts))
        for length in range(1, len(name) + 1):
            yield (f"{length} letter{'s' * (length > 1)}" if length < 8 else "8 letters and more"), name[:length], name
        for errors in (1, 2):
            yield f"whole name, {errors} error{'s' * (errors - 1)}", mistyped(name, errors, draw), name
        yield "one word, 1 error", mistyped(name.split()[0], 1, draw), name.split()[0]
        yield "words in reverse", " ".join(reversed(name.split())), name


def measure(index: ItemIndex, vocabulary: Vocabulary, people: int) -> None:
    took: dict[str, list[tuple[float, float]]] = defaultdict(list)
    hits: dict[str, list[bool]] = defaultdict(list)
    for kind, text, meant in typing(vocabulary, random.Random(1), people):
        begin, worked = time.perf_counter(), time.thread_time()
        found = index.search(text, 10)
        took[kind].append((1e3 * (time.perf_counter() - begin), 1e3 * (time.thread_time() - worked)))
        hits[kind].append(is_found(found, meant))
    print_table(took, hits)


def is_found(found: list[FoundItem], meant: str) -> bool:
    return any(meant.lower() in f"{item.name} {item.group}".lower() for item in found)


def print_table(took: dict[str, list[tuple[float, float]]], hits: dict[str, list[bool]]) -> None:
    """Print elapsed and CPU milliseconds; they differ if other processes use the cores."""
    print(f"\n{'typed':<22}{'searches':>9}{'p50 ms':>9}{'p99 ms':>9}{'CPU p50':>13}{'p99':>7}{'hit in top 10':>16}")
    everything = [pair for pairs in took.values() for pair in pairs]
    for kind, pairs in [*sorted(took.items()), ("all", everything)]:
        (p50, work50), (p99, work99) = np.percentile(pairs, [50, 99], axis=0)
        there = f"{np.mean(hits[kind]):>16.1%}" if kind in hits else ""
        print(f"{kind:<22}{len(pairs):>9,}{p50:>9.2f}{p99:>9.2f}{work50:>13.2f}{work99:>7.2f}{there}")


def in_threads(search: Callable[[str], object], vocabulary: Vocabulary, people: int) -> None:
    texts = [text for _, text, _ in typing(vocabulary, random.Random(2), people)]
    with ThreadPoolExecutor(THREADS) as pool:
        begin = time.perf_counter()
        list(pool.map(search, texts))
    print(f"{THREADS} threads: {len(texts) / (time.perf_counter() - begin):,.0f} searches/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("items", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--people", type=int, default=300, help="number of names to type")
    options = parser.parse_args()
    vocabulary = generate(options.items)
    with tempfile.TemporaryDirectory() as folder:
        for name, content in vocabulary.files().items():
            write_bytes(Path(folder) / name, content)
        build(Path(folder), Path(folder) / "indexes")
        index = ItemIndex(next((Path(folder) / "indexes").glob("*.sqlite")))
        begin = time.perf_counter()
        index.search("xqzvwk jjqxk")
        print(f"first search with typing errors {1e3 * (time.perf_counter() - begin):.0f} ms")
        measure(index, vocabulary, options.people)
        in_threads(index.search, vocabulary, options.people // 3)
        index.close()


if __name__ == "__main__":
    main()
