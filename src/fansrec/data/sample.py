"""The sample world of the demo: songs of an invented country, and lists whose order carries information.

The artists are arranged in a ring, one arc per genre. Every list is a trip: it starts at an artist and moves from
neighbor to neighbor, in either direction, slowly or fast, with songs of a guest artist in between, from calm songs up
to loud ones and down again. The songs in the first half say where the trip has been; only their order says where it
goes. So a model that reads the order can beat models that count co-occurrences.
"""

import csv
import io
import json
from bisect import bisect
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fansrec.data.sample_names import ENERGIES, GENRES, artist_names, song_titles
from fansrec.files import write_text

LISTS = 6_000
SHORTEST, LONGEST = 10, 40
ARTISTS_PER_GENRE = 20
SONGS = 10  # per artist, each with a different energy from 0 to 9
ARTISTS = ARTISTS_PER_GENRE * len(GENRES)
FAME = 0.8  # Zipf exponents: skewed, but almost all songs occur at least ten times
SONG_FAME = 0.8
ENERGY_SPREAD = 2.0  # standard deviation of the energies around the arc of a list
FORWARD = 0.7  # the share of trips in the common direction
PACES = (0.35, 0.6)  # artists per song
GUEST = 0.1  # the probability that the next song is by the guest
SEQUEL = 0.85  # the probability that Part Two follows Part One immediately
PART_ONE, PART_TWO = 6, 7  # the energies of an artist's two-part song


@dataclass(frozen=True)
class Sample:
    """Lists of item ids, the theme of each list, and a row {item, name, group, category} for every item."""

    lists: list[list[str]]
    themes: list[str]
    items: list[dict[str, str]]


@dataclass(frozen=True)
class World:
    """The songs and the probabilities that lists are drawn from; song s is by artist s // SONGS."""

    items: list[dict[str, str]]
    sequels: dict[int, int]  # Part One -> Part Two
    fame: NDArray[np.float64]  # (ARTISTS,): sums to 1
    chances: list[list[list[float]]]  # [artist][energy]: cumulative probabilities of the artist's songs


@dataclass(frozen=True)
class Trip:
    start: int
    direction: int
    pace: float
    guest: int
    length: int

    def artist(self, position: int) -> int:
        return (self.start + self.direction * int(position * self.pace)) % ARTISTS

    def energy(self, position: int) -> int:
        """Return the energy at a position: rising to the middle of the list, then falling."""
        return round((SONGS - 1) * (1 - abs(2 * position / self.length - 1)))

    def theme(self) -> str:
        first, last = (genre_of(self.artist(position)) for position in (0, self.length - 1))
        return f"{first} all the way" if first == last else f"{first} to {last}"


def make_sample(seed: int = 0) -> Sample:
    """Return a sample that depends only on the seed."""
    generator = np.random.default_rng(seed)
    world = make_world(generator)
    trips = [draw_trip(world, generator) for _ in range(LISTS)]
    lists = [[world.items[song]["item"] for song in travel(world, trip, generator)] for trip in trips]
    return Sample(lists, [trip.theme() for trip in trips], world.items)


def write_sample(folder: Path, seed: int = 0) -> tuple[Path, Path]:
    """Write lists.jsonl and items.csv, the two input files of `fans prepare`; return their paths."""
    sample = make_sample(seed)
    folder.mkdir(parents=True, exist_ok=True)
    lists, items = folder / "lists.jsonl", folder / "items.csv"
    rows = zip(sample.lists, sample.themes, strict=True)
    lines = [{"id": f"l{i:04d}", "items": list_, "theme": theme} for i, (list_, theme) in enumerate(rows, 1)]
    write_text(lists, "".join(json.dumps(line) + "\n" for line in lines))
    table = io.StringIO()
    writer = csv.DictWriter(table, ["item", "name", "group", "category"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(sample.items)
    write_text(items, table.getvalue())
    return lists, items


def genre_of(artist: int) -> str:
    return tuple(GENRES)[artist // ARTISTS_PER_GENRE]


def make_world(generator: np.random.Generator) -> World:
    energies = np.array([generator.permutation(SONGS) for _ in range(ARTISTS)])
    fame = generator.permutation(zipf(ARTISTS, FAME))
    parts = energies.argsort(axis=1)[:, [PART_ONE, PART_TWO]] + SONGS * np.arange(ARTISTS)[:, None]
    sequels = {int(one): int(two) for one, two in parts}
    return World(make_items(energies, sequels, generator), sequels, fame, song_chances(energies))


def zipf(count: int, exponent: float) -> NDArray[np.float64]:
    weights = np.power(np.arange(1, count + 1, dtype=np.float64), -exponent)
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def song_chances(energies: NDArray[np.int64]) -> list[list[list[float]]]:
    """Return cumulative probabilities: a song is likely if it is famous and its energy is close to the moment's."""
    distance = energies[:, None, :] - np.arange(SONGS)[None, :, None]  # (artist, energy, song)
    weights = zipf(SONGS, SONG_FAME) * np.exp(-(distance**2) / (2 * ENERGY_SPREAD**2))
    cumulative = weights.cumsum(axis=-1)
    chances: list[list[list[float]]] = (cumulative / cumulative[..., -1:]).tolist()
    return chances


def make_items(
    energies: NDArray[np.int64], sequels: dict[int, int], generator: np.random.Generator
) -> list[dict[str, str]]:
    artists = artist_names(ARTISTS, generator)
    titles = make_titles(energies, generator)
    for one, two in sequels.items():
        titles[one], titles[two] = f"{titles[one]}, Part One", f"{titles[one]}, Part Two"
    rows: list[dict[str, str]] = []
    for song, title in enumerate(titles):
        artist = artists[song // SONGS]
        name = f"{title} - {artist}"
        rows.append({"item": f"s{song + 1:04d}", "name": name, "group": artist, "category": genre_of(song // SONGS)})
    return rows


def make_titles(energies: NDArray[np.int64], generator: np.random.Generator) -> list[str]:
    """Return distinct titles that fit the genre and the energy of each song."""
    per_band = SONGS // len(ENERGIES)
    pools = {
        (genre, band): iter(song_titles(genre, band, ARTISTS_PER_GENRE * per_band, generator))
        for genre in GENRES
        for band in range(len(ENERGIES))
    }
    return [
        next(pools[genre_of(artist), int(energy) // per_band]) for artist, own in enumerate(energies) for energy in own
    ]


def draw_trip(world: World, generator: np.random.Generator) -> Trip:
    start, guest = generator.choice(ARTISTS, size=2, p=world.fame)
    return Trip(
        start=int(start),
        direction=1 if generator.random() < FORWARD else -1,
        pace=float(generator.choice(PACES)),
        guest=int(guest),
        length=SHORTEST + int(generator.beta(1.6, 2.4) * (LONGEST - SHORTEST + 1)),
    )


def travel(world: World, trip: Trip, generator: np.random.Generator) -> list[int]:
    """Return the distinct songs of a trip."""
    songs: list[int] = []
    while len(songs) < trip.length:
        song = next_song(world, trip, songs, generator)
        if song not in songs:
            songs.append(song)
    return songs


def next_song(world: World, trip: Trip, songs: list[int], generator: np.random.Generator) -> int:
    if songs and songs[-1] in world.sequels and generator.random() < SEQUEL:
        return world.sequels[songs[-1]]
    position = len(songs)
    artist = trip.guest if generator.random() < GUEST else trip.artist(position)
    return artist * SONGS + bisect(world.chances[artist][trip.energy(position)], generator.random())
