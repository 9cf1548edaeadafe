import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fansrec
from fansrec.data.sample import write_sample
from worlds import MINUTE

LISTS = [[f"i{(number + step) % 20}" for step in range(6)] for number in range(40)]


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


def test_dir_lists_the_public_names() -> None:
    assert {*fansrec.__all__} <= {*dir(fansrec)}
    assert all(getattr(fansrec, name) for name in fansrec.__all__)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": 123}, "the source is 123; give a file, a dataframe, or a list of lists"),
        ({"items": [1]}, r"items is \[1\]; give a file or a dataframe"),
        ({"items": 1.5}, "items is 1.5; give a file or a dataframe"),
        ({"out": 5}, "out is 5; give the path of a folder"),
    ],
)
def test_arguments_of_another_type_are_refused(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(fansrec.FansError, match=message):
        fansrec.prepare(**{"source": LISTS, "out": tmp_path / "corpus"} | arguments)


def test_skipped_rows_are_logged_as_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fansrec.prepare(
        [*LISTS, [None]], tmp_path / "corpus", min_item_count=1, min_length=2, categories=2, on_bad_row="skip"
    )
    assert [record.name for record in caplog.records if record.levelname == "WARNING"] == ["fansrec"]
    assert "skipped: 1 row of lists" in caplog.text


def test_report_is_printed_in_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    fansrec.prepare(LISTS, tmp_path / "corpus", min_item_count=1, min_length=2, categories=2)
    assert f"read: {len(LISTS)} lists" in capsys.readouterr().out


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
