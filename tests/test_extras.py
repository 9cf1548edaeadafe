"""Every verb and every public function says which extra to install, where its packages cannot be imported."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from artifacts import write_kind
from fansrec.errors import EXTRAS

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULES = {
    "scikit-learn": "sklearn",
    "prometheus-client": "prometheus_client",
    "mlflow-skinny": "mlflow",
}  # names that differ from the package's

SCRIPT = """
import contextlib, io, json, sys
blocked = set(json.loads(sys.argv[1]))

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
import fansrec
from fansrec.cli.main import run
results = {}
for command in json.loads(sys.argv[2]):
    sys.argv = ["fans", *command.split()]
    out, err = io.StringIO(), io.StringIO()
    code = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            run()
    except SystemExit as end:
        code = end.code or 0
    results[command] = [code, err.getvalue()]
for name in fansrec.__all__:
    try:
        results[name] = [0, str(getattr(fansrec, name))]
    except fansrec.errors.FansError as error:
        results[name] = [2, "fans: " + str(error) + "\\n"]
print(json.dumps(results))
"""

# The extra that each command needs; None: it runs without any.
COMMANDS: dict[str, str | None] = {
    "demo": "train",
    "data list": None,
    "data describe lists.csv": "train",
    "data describe corpus": None,
    "data describe corpus --out plot.png": "train",
    "prepare lists.csv --out new": "train",
    "prepare lists.csv --out new --engine ray": "ray",
    "train corpus --out new": "train",
    "evaluate run --corpus corpus": "train",
    "evaluate run --corpus corpus --html report.html": "train",
    "compare corpus": "train",
    "tune corpus --out new": "train",
    "crossval corpus": "train",
    "continue run i1 --device cpu": None,
    "continue run i1 --device cuda": "gpu",
    "continue run --input in.jsonl --output out --engine ray": "ray",
    "serve run": "serve",
    "serve run --engine ray": "ray",
    "keys list keys": None,
    "export run --out run.onnx": "export",
    "bench latency": "train",
    "bench throughput": "train",
    "bench training": "train",
    "bench sweep --json sweep.json": "train",
    "reproduce table1": "train",
    "doctor": None,
}
FUNCTIONS = dict.fromkeys(("prepare", "train", "evaluate", "compare", "Comparison", "tune", "Tuned"), "train") | {
    "Client": "client",
    "AsyncClient": "client",
}


def packages(extra: str) -> set[str]:
    """Return the packages that an extra installs, through other extras too."""
    found = set()
    for requirement in PROJECT["optional-dependencies"][extra]:
        name, extras = re.match(r"([\w-]+)(?:\[([\w,-]+)\])?", requirement).groups()  # type: ignore[union-attr]
        found |= {p for one in extras.split(",") for p in packages(one)} if name == "fansrec" else {name}
    return found


@pytest.fixture(scope="module")
def folder(songs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("extras")
    (folder / "corpus").symlink_to(songs / "corpus")
    write_kind(folder / "run", "ease")
    (folder / "lists.csv").write_text("list_id,item_id\n1,a\n1,b\n")
    (folder / "in.jsonl").write_text('["i1"]\n')
    (folder / "keys").write_text("")
    return folder


def results(folder: Path, extras: list[str]) -> dict[str, tuple[int, str]]:
    """Return exit code and stderr of each command and function in a process with only these extras."""
    have = {MODULES.get(package, package) for extra in extras for package in packages(extra)}
    have |= {"starlette", "pydantic_core"} if "serve" in extras else set()
    have |= {"pydantic", "pydantic_core"}  # typer brings them
    blocked = {name for names in EXTRAS.values() for name in names} - have
    commands = [command for command in COMMANDS if not ("serve" in extras and command == "serve run")]
    script = [sys.executable, "-c", SCRIPT, json.dumps([*blocked]), json.dumps(commands)]
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    done = subprocess.run(script, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, tuple[int, str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("extras", [[], ["serve"], ["client"]], ids=str)
def test_commands_and_functions_name_the_missing_extra_in_one_line(folder: Path, extras: list[str]) -> None:
    for name, (code, err) in results(folder, extras).items():
        extra = (COMMANDS | FUNCTIONS).get(name)
        if extra is None or extra in extras:
            assert code == 0, (name, err)
        else:
            message = rf"fans: \w+ is not installed; run: pip install 'fansrec\[{extra}\]'\n"
            assert code == 2 and re.fullmatch(message, err), (name, err)


def test_table_of_extras_has_the_packages_of_pyproject() -> None:
    for extra, names in EXTRAS.items():
        declared = {MODULES.get(package, package.replace("-", "_")) for package in packages(extra)}
        own = {module for other, modules in EXTRAS.items() if other != extra for module in modules}
        assert declared <= set(names) | own, extra


@pytest.mark.parametrize("extra", ["client", "serve"])
def test_extra_does_not_install_torch(extra: str) -> None:
    assert not packages(extra) & {"torch", "polars", "gensim", "accelerate"}


def test_package_is_marked_as_typed() -> None:
    assert (ROOT / "src/fansrec/py.typed").is_file() and "Typing :: Typed" in PROJECT["classifiers"]
