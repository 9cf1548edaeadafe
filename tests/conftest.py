"""Fixtures that several folders of tests share."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import sanitizers
from fansrec.data.corpus import Corpus, write_corpus
from fansrec.vocabulary import Vocabulary
from scheduling import pytest_collection as pytest_collection
from scheduling import pytest_collection_modifyitems as pytest_collection_modifyitems
from scheduling import pytest_xdist_make_scheduler as pytest_xdist_make_scheduler
from skipping import skip_or_fail
from training_runs import train
from worlds import MINUTE, walks

# Threads that wait for each other take minutes on a busy machine; child processes inherit this.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# Hundreds of processes import the package, which would otherwise be compiled each time; also that of pytest-xdist.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

with suppress(ImportError):  # not installed on a bare accelerator machine
    import hypothesis

    # The time of an example depends more on the machine than on the code.
    hypothesis.settings.register_profile("any machine", deadline=None)
    hypothesis.settings.load_profile("any machine")


@pytest.fixture
def real_data() -> Callable[[str], Path]:
    """Return a function that finds a public file in $FANS_DATA; a missing file skips the test, but not in CI.

    $FANS_ABSENT names the sets that a machine cannot have; their tests are skipped everywhere.
    """
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("FANS_DATA") or default)

    def locate(name: str) -> Path:
        if not (folder / name).is_file():
            if Path(name).parts[0] in os.environ.get("FANS_ABSENT", "").split():
                pytest.skip(f"the public file {name} is not in {folder}, as $FANS_ABSENT says")
            skip_or_fail(f"the public file {name} is not in {folder}; set FANS_DATA to the folder that has it")
        return folder / name

    return locate


@pytest.fixture(scope="session")
def songs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a corpus whose items have names and groups, and a model trained on it."""
    folder = tmp_path_factory.mktemp("songs")
    made = walks()
    ids = made.vocabulary.ids
    named: dict[str, Any] = {
        "names": [f"Song {n}" for n in range(len(ids))],
        "groups": [f"artist {n % 6}" for n in range(len(ids))],
    }
    vocabulary = Vocabulary(ids, made.vocabulary.starts, category_names=made.vocabulary.category_names, **named)
    write_corpus(folder / "corpus", Corpus(made.items, made.offsets, made.parts, vocabulary, made.summary))
    train(folder / "corpus", folder / "run", "fans", MINUTE)
    return folder


@pytest.fixture(scope="session")
def best(songs: Path) -> Path:
    """Return a model of `--recipe best`, trained on the same songs."""
    small = {"recipe": "best", "epochs": 2, "width": 8, "heads": 2, "feedforward": 8, "layers": 1}
    train(songs / "corpus", songs / "best", "fans", small)
    return songs / "best"


@pytest.fixture(scope="session")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with sanitized libraries of the native kernel; $FANS_SANITIZED names one to reuse."""
    missing = sanitizers.why_not()
    if missing is not None:
        skip_or_fail(missing)
    folder = Path(os.environ.get("FANS_SANITIZED") or tmp_path_factory.mktemp("sanitized"))
    sanitizers.build(folder)
    return folder
