"""The folder of a cross-validation: `split.json` records how the lists were dealt, and each fold is a corpus folder."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fansrec.errors import BadArtifact, BadSetting
from fansrec.files import write_json

FILE = "split.json"


@dataclass(frozen=True)
class Split:
    """How the lists of a corpus are dealt into folds."""

    corpus: str  # the name of its folder
    fingerprint: str
    folds: int | None  # None: the corpus's own split
    seed: int | None

    @property
    def fold_numbers(self) -> range:
        return range(1 if self.folds is None else self.folds)

    def __str__(self) -> str:
        return "its own split" if self.folds is None else f"--folds {self.folds} --seed {self.seed}"

    def select(self, requested: Sequence[int]) -> list[int]:
        """Return the requested fold numbers in order, or all if none is requested."""
        for number in requested:
            if number not in self.fold_numbers:
                raise BadSetting(f"--fold-numbers {number}: the folds are numbered 0 to {len(self.fold_numbers) - 1}")
        return sorted(set(requested)) if requested else list(self.fold_numbers)


def fold_folder(folder: Path, number: int) -> Path:
    return folder / f"fold-{number}"


def has_fold(folder: Path, number: int) -> bool:
    return (fold_folder(folder, number) / "summary.json").is_file()


def start_split(folder: Path, split: Split) -> None:
    """Write `split.json`, or refuse a folder that was made for another corpus or other folds."""
    if not (folder / FILE).is_file():
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / FILE, asdict(split))
        return
    found = read_split(folder)
    if found.fingerprint != split.fingerprint:
        raise BadSetting(f"{folder} was made for another corpus ({found.corpus}); choose another --out, or remove it")
    if (found.folds, found.seed) != (split.folds, split.seed):
        raise BadSetting(f"{folder} was made with {found}, not with {split}; choose another --out")


def read_split(folder: Path) -> Split:
    if not (folder / FILE).is_file():
        raise BadArtifact(f"{folder} has no folds: {FILE} is missing. Make them with `fans crossval --only folds`")
    try:
        return Split(**json.loads((folder / FILE).read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise BadArtifact(f"{folder / FILE} is damaged ({error}); remove {folder} and start again") from error
