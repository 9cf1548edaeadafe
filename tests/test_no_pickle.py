"""Models and corpora are data, never code: nothing in the package can execute what it reads."""

import ast
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

import fansrec

FILES = sorted(Path(fansrec.__file__).parent.rglob("*.py"))
MODULES = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
CALLS = {"eval", "exec", "torch.load", "torch.save", "torch.jit.load", "numpy.loads"}
PICKLING = {"read_pickle", "to_pickle", "load_state_dict_from_url"}


def aliases(tree: ast.AST) -> dict[str, str]:
    """Return the full name of each imported name: np -> numpy, load -> torch.load."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {
                a.asname or a.name.split(".")[0]: a.name if a.asname else a.name.split(".")[0] for a in node.names
            }
        elif isinstance(node, ast.ImportFrom):
            names |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return names


def dotted(node: ast.expr, names: dict[str, str]) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value, names)}.{node.attr}"
    return names.get(node.id, node.id) if isinstance(node, ast.Name) else "?"


def dangers(source: str) -> Iterator[str]:
    """Yield everything in `source` that could execute code from a file."""
    tree = ast.parse(source)
    names = aliases(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
            yield str(node.module)
        elif isinstance(node, ast.Call):
            yield from danger_of_call(node, dotted(node.func, names), constants(tree))


def constants(tree: ast.Module) -> set[str]:
    """Return the names of constant tables of strings that name no dangerous module."""
    return {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict) and all(map(harmless, node.value.values))
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def harmless(module: ast.expr, tables: Collection[str] = ()) -> bool:
    """Whether the name of a module is written in the source, and none to be afraid of."""
    if isinstance(module, ast.Subscript) and isinstance(module.value, ast.Name):
        return module.value.id in tables
    return isinstance(module, ast.Constant) and str(module.value).split(".")[0] not in MODULES


def danger_of_call(call: ast.Call, name: str, tables: Collection[str]) -> Iterator[str]:
    if name.removeprefix("builtins.") in CALLS or name.rsplit(".", 1)[-1] in PICKLING:
        yield name
    if name in ("importlib.import_module", "__import__"):
        yield from (f"{name} of {ast.unparse(module)}" for module in call.args[:1] if not harmless(module, tables))
    for keyword in call.keywords:
        if keyword.arg == "allow_pickle" and ast.unparse(keyword.value) != "False":
            yield f"{name} with allow_pickle"
        if keyword.arg == "weights_only" and ast.unparse(keyword.value) != "True":
            yield f"{name} without weights_only"


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "import joblib as j",
        "from shelve import open",
        "import os, marshal",
        "import torch\ntorch.load('x')",
        "import torch as t\nt.load('x', weights_only=True)",
        "from torch import load\nload('x')",
        "import numpy as np\nnp.load('x', allow_pickle=True)",
        "import numpy as np\nnp.load('x', allow_pickle=flag)",
        "eval('1')",
        "import builtins\nbuiltins.exec('1')",
        "import importlib\nimportlib.import_module('pickle')",
        "from importlib import import_module\nimport_module(config['model'])",
        "from importlib import import_module\nPLACES = {'x': 'pickle'}\nimport_module(PLACES['x'])",
        "import pandas as pd\npd.read_pickle('x')",
    ],
)
def test_dangerous_code_is_found(source: str) -> None:
    assert list(dangers(source))


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\nnp.load('x', allow_pickle=False)",
        "model.eval()",
        "from safetensors.torch import load_file\nload_file('x')",
        "from importlib import import_module\nPLACES = {'x': 'fansrec.errors'}\nimport_module(PLACES['x'])",
    ],
)
def test_harmless_code_passes(source: str) -> None:
    assert not list(dangers(source))


def test_whole_package_is_checked() -> None:
    assert {"manifest.py", "checkpoint.py", "corpus.py"} <= {path.name for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(FILES[0].parent).as_posix())
def test_file_neither_unpickles_nor_evaluates(path: Path) -> None:
    assert not list(dangers(path.read_text(encoding="utf-8")))
