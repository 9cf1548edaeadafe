import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from pyarrow import parquet

from artifacts import write_kind
from fansrec.api.continuer import load
from fansrec.api.similar import ItemVectors
from fansrec.exporting.vectors import write_vectors
from training_runs import train

Fans = Callable[..., tuple[int, str, str]]
DOCS = Path(__file__).parents[2] / "docs"


def test_exported_model_gives_the_answers_of_fans_continue(fans: Fans, songs: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "model.onnx"
    code, out, _ = fans("export", songs / "run", "--format", "onnx", "--out", path)
    assert code == 0 and str(path) in out
    model = load(songs / "run")
    given = model.vocabulary.ids[3:9]
    numbers = np.array([model.vocabulary.indices(given)[0]])
    feed = {"lists": numbers, "k": np.array(7), "keep_seen": np.array(False), "exclude": np.zeros(0, dtype=np.int64)}
    items, scores = onnxruntime.InferenceSession(path).run(None, feed)
    (answer,) = model.continue_lists([given], k=7)
    assert [model.vocabulary.id(item) for item in items[0]] == answer.items
    assert scores[0] == pytest.approx([position.score for position in answer.positions], abs=1e-5)


def test_unsupported_model_is_refused_in_one_line(fans: Fans, songs: Path, tmp_path: Path) -> None:
    train(songs / "corpus", tmp_path / "run", "popularity", {})
    code, _, err = fans("export", tmp_path / "run", "--out", tmp_path / "model.onnx")
    assert code == 2 and err == "fans: popularity cannot be exported; export fans, bert4rec or bert4rec-nar\n"
    assert not (tmp_path / "model.onnx").exists()


def test_folder_without_a_model_is_refused(fans: Fans, tmp_path: Path) -> None:
    code, _, err = fans("export", tmp_path, "--format", "onnx", "--out", tmp_path / "model.onnx")
    assert code == 2 and "is not a trained model" in err and err.count("\n") == 1


def test_missing_onnx_is_reported_with_what_to_install(
    fans: Fans, songs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("fansrec.exporting")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    code, _, err = fans("export", songs / "run", "--out", tmp_path / "model.onnx")
    assert code == 2 and "pip install 'fansrec[export]'" in err


def test_example_of_the_docs_runs(fans: Fans, songs: Path, tmp_path: Path) -> None:
    assert fans("export", songs / "run", "--out", tmp_path / "mine.onnx")[0] == 0
    shutil.copytree(songs / "run", tmp_path / "runs" / "mine")
    (example,) = re.findall(r"```python\n(.*?)```", (DOCS / "how-to" / "export.md").read_text(), re.DOTALL)
    example = re.sub(r"s000(\d)", r"i\1", example)  # the ids of this world
    ran = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    answers = json.loads(ran.stdout.replace("'", '"'))
    assert [len(set(answer)) for answer in answers] == [10, 10]
    assert not {"i1", "i7", "i2", "i5"} & set(answers[0])


@pytest.mark.parametrize("name", ["vectors.parquet", "vectors.npz"])
def test_item_vectors_are_written_for_other_programs(fans: Fans, songs: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    code, out, _ = fans("export", songs / "run", "--format", "vectors", "--out", path)
    assert (code, out) == (0, f"{path} (0.0 MB)\n")
    items, vectors = load(songs / "run").item_vectors()
    if path.suffix == ".npz":
        found = np.load(path, allow_pickle=False)
        assert found["items"].tolist() == items and np.array_equal(found["vectors"], vectors)
    else:
        table = parquet.read_table(path)
        assert table["item"].to_pylist() == items
        assert np.array_equal(np.array(table["vector"].to_pylist(), dtype=np.float32), vectors)


def test_integer_ids_of_vectors_stay_integers(tmp_path: Path) -> None:
    found = ItemVectors([7, 108], np.ones((2, 3), dtype=np.float32))
    for suffix in (".parquet", ".npz"):
        write_vectors(found, tmp_path / f"vectors{suffix}")
    assert parquet.read_table(tmp_path / "vectors.parquet")["item"].to_pylist() == [7, 108]
    assert np.load(tmp_path / "vectors.npz", allow_pickle=False)["items"].tolist() == [7, 108]


@pytest.mark.parametrize("ids", [[7, "abc", "7"], [2**70, 5, 1]])
def test_ids_that_do_not_have_one_type_are_written_as_text(tmp_path: Path, ids: list[int | str]) -> None:
    found, integers = ItemVectors(ids, np.ones((3, 2), dtype=np.float32)), [isinstance(item, int) for item in ids]
    for suffix in (".parquet", ".npz"):
        write_vectors(found, tmp_path / f"vectors{suffix}")
    table = parquet.read_table(tmp_path / "vectors.parquet")
    assert table["item"].to_pylist() == [str(item) for item in ids]
    assert table["is_integer"].to_pylist() == integers
    arrays = np.load(tmp_path / "vectors.npz", allow_pickle=False)
    assert arrays["items"].tolist() == [str(item) for item in ids]
    assert arrays["is_integer"].tolist() == integers


def test_file_of_the_model_is_not_replaced(fans: Fans, songs: Path, tmp_path: Path) -> None:
    run = shutil.copytree(songs / "run", tmp_path / "run")
    before = {path: path.read_bytes() for path in run.iterdir() if path.is_file()}
    (tmp_path / "link").symlink_to(run)
    for out in (run / "model.safetensors", run / "new" / "model.onnx", tmp_path / "link" / "items.jsonl"):
        code, _, err = fans("export", run, "--out", out, "--force")
        assert code == 2 and "is inside the folder of the model" in err and err.count("\n") == 1
    assert {path: path.read_bytes() for path in run.iterdir() if path.is_file()} == before
    assert not (run / "new").exists()


@pytest.mark.parametrize(
    ("model", "name", "message"),
    [
        ("fans", "vectors.csv", "vectors.csv has none of the endings .parquet and .npz; choose one of them"),
        ("ease", "vectors.npz", "EASE has no item vectors; use a model that has them, such as fans"),
    ],
)
def test_vectors_that_cannot_be_written_are_refused(
    fans: Fans, tmp_path: Path, model: str, name: str, message: str
) -> None:
    run = write_kind(tmp_path / model, model)
    code, _, err = fans("export", run, "--format", "vectors", "--out", tmp_path / name)
    assert code == 2 and message in err and err.count("\n") == 1
    assert not (tmp_path / name).exists()


def test_missing_polars_is_reported_with_what_to_install(
    fans: Fans, songs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    code, _, err = fans("export", songs / "run", "--format", "vectors", "--out", tmp_path / "vectors.parquet")
    assert code == 2 and "pip install 'fansrec[train]'" in err
