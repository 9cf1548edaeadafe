"""docs/how-to/add-a-model.md, done as it says: a model from another package, known by its entry point alone."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fansrec.artifact import read_artifact
from fansrec.errors import BadArtifact, BadSetting
from fansrec.models import registry
from worlds import write_walks

ROOT = Path(__file__).parents[2]
# Runs commands one after another and prints what each of them wrote: one process, since its start takes seconds.
COMMANDS = """
import json, sys
from typer.testing import CliRunner
from fansrec.cli.main import app
outputs = [CliRunner().invoke(app, command, catch_exceptions=False).stdout for command in json.loads(sys.argv[1])]
print(json.dumps(outputs))
"""


def install(folder: Path, code: str, value: str) -> Path:
    """Write what pip installs: a module, and a dist-info that names the entry point."""
    (folder / "mean_model.py").write_text(code)
    info = folder / "mean_model-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mean-model\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\nmean = {value}\n")
    return folder


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/how-to/add-a-model.md").read_text(), re.DOTALL)
    return install(tmp_path_factory.mktemp("site"), code, "mean_model:ENTRY")


def run(package: Path, *command: str) -> str:
    python_path = os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": python_path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *command], env=environment, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_model_of_another_package_passes_the_contract_suite(package: Path) -> None:
    output = run(package, "-m", "pytest", "-q", "tests/models/test_contract.py", "-k", "mean", "-p", "no:cacheprovider")
    (passed,) = re.findall(r"(\d+) passed", output)
    assert int(passed) >= 20 and "failed" not in output


def test_model_of_another_package_trains_evaluates_and_continues(package: Path, tmp_path: Path) -> None:
    corpus = str(write_walks(tmp_path / "corpus"))
    out = str(tmp_path / "run")
    train = ["train", corpus, "--out", out, "--model", "mean", "--epochs", "2", "--set", "width=8"]
    evaluate = ["evaluate", out, "--corpus", corpus, "--protocol", "standard"]
    continue_ = ["continue", out, "i3", "i4", "-k", "4"]
    trained, evaluated, continued = json.loads(run(package, "-c", COMMANDS, json.dumps([train, evaluate, continue_])))
    assert f"{out}: Mean" in trained
    assert "Mean" in evaluated
    assert len(continued.splitlines()) == 4
    with pytest.raises(BadArtifact, match="is a 'mean' model, which this fansrec does not have; install its package"):
        read_artifact(tmp_path / "run")  # this process does not have the package


def test_package_that_cannot_be_loaded_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(install(tmp_path, "ENTRY = 1\n", "mean_model:ENTRY")))
    assert "mean" in registry.names()
    with pytest.raises(BadSetting, match="mean_model:ENTRY is not a .*Entry"):
        registry.entry("mean")
    sys.modules.pop("mean_model", None)
    (tmp_path / "mean_model.py").write_text("raise RuntimeError('gone')\n")
    importlib.invalidate_caches()
    with pytest.raises(BadSetting, match="the model 'mean' .*cannot be loaded \\(gone\\)"):
        registry.entry("mean")
