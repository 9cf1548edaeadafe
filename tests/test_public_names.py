import subprocess
import sys
from pathlib import Path

import pytest

import fansrec
from fansrec.data.sample import write_sample
from worlds import MINUTE


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_the_package_imports_no_torch() -> None:
    assert run_python("import fansrec, sys; print('torch' in sys.modules)") == "False\n"


def test_continuing_lists_needs_no_data_or_training_library() -> None:
    heavy = "{'torch', 'polars', 'gensim', 'sklearn', 'accelerate', 'matplotlib', 'pandas', 'scipy'}"
    assert run_python(f"import fansrec.api.continuer, sys; print({heavy} & set(sys.modules))") == "set()\n"


def test_starting_the_command_imports_no_numpy_and_reads_no_model() -> None:
    heavy = "{'numpy', 'safetensors', 'polars', 'torch', 'pydantic', 'fastapi'}"
    assert run_python(f"import fansrec.cli.main, sys; print({heavy} & set(sys.modules))") == "set()\n"


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        fansrec.nonsense  # noqa: B018


def test_prepare_train_and_continue_in_python(tmp_path: Path) -> None:
    lists, items = write_sample(tmp_path / "world", seed=1)
    summary = fansrec.prepare(lists, tmp_path / "corpus", max_length=20, items=items)
    fansrec.train(tmp_path / "corpus", tmp_path / "run", "fans", MINUTE | {"epochs": 1, "steps": 1})
    model = fansrec.load(tmp_path / "run")
    known = model.vocabulary.ids[:3]
    (answer,) = model.continue_lists([known], k=10, exclude=[model.vocabulary.ids[5]], max_per_group=2)
    assert summary["categories"] == 10
    assert len(set(answer.items)) == 10
    assert not {*known, model.vocabulary.ids[5]} & set(answer.items)
    assert all(position.name for position in answer.positions)
