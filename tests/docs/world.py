"""The files that documents begin with: lists of songs in several formats, with names, artists, genres and dates."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fansrec
from fansrec.data.prepare import prepare
from fansrec.training import trainer
from training_runs import train

ITEMS, LENGTH = 60, 12
SMALL: dict[str, Any] = {"width": 8, "heads": 2, "feedforward": 8, "layers": 1, "epochs": 2}
SMALLEST: dict[str, Any] = {"width": 8, "heads": 2, "layers": 1, "epochs": 1}  # every sequence model has these
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "mine": ("fans", SMALL | {"recipe": "best"}),
    "fans": ("fans", SMALL | {"steps": 1}),
    "bert4rec": ("bert4rec", SMALL),
    "ease": ("ease", {}),
    "item-knn": ("item-knn", {}),
}


def walks(lists: int) -> list[list[str]]:
    """Return lists that go around a circle of items."""
    starts = np.random.default_rng(0).integers(0, ITEMS, lists).tolist()
    return [[f"s{(start + step) % ITEMS + 1:04}" for step in range(LENGTH)] for start in starts]


def write_files(folder: Path) -> None:
    """Write the files of lists and of items."""
    lists = walks(120)
    names, times = "playlist_id,track_id,position", "session_id,track_id,timestamp"
    rows = [(f"p{number}", item, at) for number, items in enumerate(lists) for at, item in enumerate(items)]
    _write_csv(folder / "playlists.csv", names, rows)
    pl.DataFrame(rows, schema=names.split(","), orient="row").write_parquet(folder / "playlists.parquet")
    played = [(id, item, 1_700_000_000 + 86_400 * number) for number, (id, item, _) in enumerate(rows)]
    pl.DataFrame(played, schema=times.split(","), orient="row").write_parquet(folder / "plays.parquet")
    new = [(f"n{number}", item, at) for number, items in enumerate(walks(5)) for at, item in enumerate([*items, "new"])]
    _write_csv(folder / "new.csv", names, new)
    lines = (json.dumps({"id": f"p{number}", "items": items}) for number, items in enumerate(lists))
    (folder / "lists.jsonl").write_text("\n".join(lines), encoding="utf-8")
    songs = [(f"s{n:04}", f"Song {n}", f"artist {n % 7}", f"c{n % 4}", 1960 + n) for n in range(1, ITEMS + 1)]
    _write_csv(folder / "songs.csv", "track_id,name,artist,category,date", songs)


def train_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all training of this process take seconds: small models, and no comparison with others."""
    real = trainer.train

    def train_quickly(*args: Any, values: dict[str, Any] | None = None, **more: Any) -> Any:
        return real(*args, values=(values or {}) | SMALLEST, **more | {"compare": False})

    monkeypatch.setattr(trainer, "train", train_quickly)
    monkeypatch.delitem(vars(fansrec), "train", raising=False)  # it is looked up at the first use


def _write_csv(path: Path, names: str, rows: list[tuple[Any, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names.split(","), *rows])


def write_models(folder: Path) -> None:
    """Write the corpus of the files, and small models of it in `runs`."""
    prepare(folder / "playlists.csv", folder / "corpora" / "mine", items=folder / "songs.csv")
    for name, (model, values) in MODELS.items():
        train(folder / "corpora" / "mine", folder / "runs" / name, model, values)
