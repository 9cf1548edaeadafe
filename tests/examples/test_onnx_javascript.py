"""examples/onnx_javascript: the program in Node.js prints what `fans continue` prints."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import fansrec
from serving.service import DEADLINE_S, FANS
from skipping import skip_or_fail

FOLDER = Path(__file__).parents[2] / "examples" / "onnx_javascript"
PACKAGE = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
# In place of the package: answers each list with its first two items and an item for padding, and prints its inputs.
STAND_IN = """
export class Tensor { constructor(type, data, dims) { Object.assign(this, { type, data, dims }); } }
export const InferenceSession = { create: async (path) => ({ run: async (feed) => {
  const plain = (_, value) => (ArrayBuffer.isView(value) ? [...value].map(Number) : value);
  console.error(JSON.stringify({ path, feed }, plain));
  const [rows, columns] = feed.lists.dims, k = Number(feed.k.data[0]);
  const items = new Tensor("int64", new BigInt64Array(rows * k).fill(-1n), [rows, k]);
  for (let row = 0; row < rows; row++) items.data.set(feed.lists.data.slice(row * columns, row * columns + 2), row * k);
  return { items };
} }) };
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return the program in a folder of its own, without the packages that it needs."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        skip_or_fail("Node.js is not installed (apt-get install nodejs npm)")
    shutil.copytree(FOLDER, tmp_path / "app", ignore=shutil.ignore_patterns("node_modules"))
    return tmp_path / "app" / "continue.mjs"


def node(program: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["node", program, *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )


def test_program_gives_indices_and_prints_ids_and_names(program: Path, model: Path) -> None:
    package = program.parent / "node_modules" / "onnxruntime-node"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"type": "module", "exports": "./index.js"}')
    (package / "index.js").write_text(STAND_IN)
    done = node(program, "mine.onnx", model / "items.jsonl", "i3", "no such item", "i20", "-k", 4, "--exclude", "i7")
    assert done.stdout == "i3\tSong number 3\n" and done.returncode == 0
    said, called = done.stderr.splitlines()
    assert said == "unknown items were skipped: no such item"
    feed = {name: [one["type"], one["data"], one["dims"]] for name, one in json.loads(called)["feed"].items()}
    assert feed == {
        "lists": ["int64", [3, -1, 20], [1, 3]],
        "k": ["int64", [4], []],
        "keep_seen": ["bool", [False], []],
        "exclude": ["int64", [7], [1]],
    }
    for arguments, message in (
        ([], "usage"),
        (["mine.onnx", model / "items.jsonl", "i3", "-k", "0"], "usage"),
        (["mine.onnx", model / "missing.jsonl", "i3"], "missing.jsonl"),
        (["mine.onnx", model / "items.jsonl", "x", "y"], "none of the items is known"),
    ):
        refused = node(program, *arguments)
        assert refused.returncode == 2 and message in refused.stderr.splitlines()[-1]


def test_package_is_pinned_and_names_no_host() -> None:
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in PACKAGE["dependencies"].values())
    texts = [path.read_text(encoding="utf-8") for path in FOLDER.iterdir() if path.is_file()]
    assert len(texts) == 3 and not [text for text in texts if "://" in text]


@pytest.mark.long
@pytest.mark.parametrize("package", ["onnxruntime-node", "onnxruntime-web"])
def test_program_prints_what_the_command_line_prints(program: Path, model: Path, tmp_path: Path, package: str) -> None:
    version = PACKAGE["dependencies"]["onnxruntime-node"]
    wanted = [] if package in PACKAGE["dependencies"] else [f"{package}@{version}"]
    if wanted:
        (program.parent / "package.json").unlink()
        program.write_text(program.read_text().replace('from "onnxruntime-node"', f'from "{package}"'))
    installed = subprocess.run(["npm", "install", *wanted], cwd=program.parent, capture_output=True, text=True)
    if installed.returncode:
        skip_or_fail(f"npm cannot fetch {package} here: {installed.stderr[-300:]}")
    assert not (program.parent / "package-lock.json").exists()
    fansrec.export(model, tmp_path / "mine.onnx")
    for given in (["i3", "i4", "i5"], ["i3", "x", "i59", "-k", "59"], [], ["i1", "-k", "5", "--exclude", "i2"]):
        expected = subprocess.run([FANS, "continue", model, *given], capture_output=True, text=True, check=True)
        done = node(program, tmp_path / "mine.onnx", model / "items.jsonl", *given)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines() == expected.stdout.splitlines(), given
