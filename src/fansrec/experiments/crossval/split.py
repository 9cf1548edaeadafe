"""The folder of a cross-validation: `split.json` says what was dealt how, each fold is a corpus of its own."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from fansrec.errors import BadArtifact, BadSetting
from fansrec.files import write_json

FILE = "split.json"


@dataclass(frozen=True)
class Split:
    corpus: str  # its name
    fingerprint: str
    folds: int | None  # None: the corpus's own split, as it is
    seed: int | None

    @property
    def numbers(self) -> range:
        return range(1 if self.folds is None else self.folds)

    def __str__(self) -> str:
        return "its own split" if self.folds is None else f"--folds {self.folds} --seed {self.seed}"

    def chosen(self, wanted: Sequence[int]) -> list[int]:
        """The numbers of the folds asked for, of all if none are."""
        for number in wanted:
            if number not in self.numbers:
                raise BadSetting(f"--fold-numbers {number}: the folds are numbered 0 to {len(self.numbers) - 1}")
        return sorted(set(wanted)) if wanted else list(self.numbers)


def fold_folder(folder: Path, number: int) -> Path:
    return folder / f"fold-{number}"


def is_made(folder: Path, number: int) -> bool:
    return (fold_folder(folder, number) / "summary.json").is_file()


def made(folder: Path, numbers: Iterable[int]) -> list[int]:
    return [number for number in numbers if is_made(folder, number)]


def begin_split(folder: Path, split: Split) -> None:
    """Write down what the folder is for; one that is for something else is refused."""
    if not (folder / FILE).is_file():
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / FILE, asdict(split))
        return
    found = read_split(folder)
    if found.fingerprint != split.fingerprint:
        raise BadSetting(f"{folder} is of another corpus ({found.corpus}); choose another --out, or remove it")
    if (found.folds, found.seed) != (split.folds, split.seed):
        raise BadSetting(f"{folder} was made with {found}, and not with {split}; choose another --out")


def read_split(folder: Path) -> Split:
    if not (folder / FILE).is_file():
        raise BadArtifact(f"{folder} holds no folds ({FILE} is missing); make them with `fans crossval --only folds`")
    try:
        return Split(**json.loads((folder / FILE).read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise BadArtifact(f"{folder / FILE} is damaged ({error}); remove {folder} and begin anew") from error


def numbers(option: str, text: str | None) -> list[int]:
    """Numbers with commas, each once; none if nothing is given."""
    if text is None:
        return []
    try:
        found = [int(number) for number in text.split(",")]
    except ValueError:
        found = [-1]
    if min(found) < 0:
        raise BadSetting(f"{option} {text} is no list of whole numbers from 0 on, such as 0,1,2")
    return list(dict.fromkeys(found))
