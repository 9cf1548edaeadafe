"""`tools/audit.py` with a replacement for pip-audit."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

AUDIT = Path(__file__).resolve().parents[2] / "tools" / "audit.py"
SOUND = {"name": "numpy", "version": "2.0", "vulns": []}
WEAK = {"name": "old", "version": "1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1", "2.0"]}]}
SKIPPED = {"name": "torch", "skip_reason": "not found"}


def audited(program: str, *options: str) -> tuple[int, str]:
    command = [sys.executable, AUDIT, *options, sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not done.stderr
    return done.returncode, done.stdout


def reporting(*packages: dict[str, Any], code: int = 0) -> str:
    return f"print({json.dumps({'dependencies': packages})!r}); raise SystemExit({code})"


def test_no_findings_pass() -> None:
    assert audited(reporting(SOUND)) == (0, "audit: 1 packages looked up, 0 vulnerabilities found\n")


def test_findings_fail_and_name_the_fixed_versions() -> None:
    code, output = audited(reporting(SOUND, WEAK, code=1))
    assert code == 1 and "old 1.0: PYSEC-1 (fixed in 1.1, 2.0)" in output


def test_skipped_package_is_named() -> None:
    code, output = audited(reporting(SOUND, SKIPPED))
    assert code == 0 and "1 packages could not be looked up: torch" in output


@pytest.mark.parametrize(
    "program",
    [
        "import sys; sys.exit('ConnectionError: no route to host')",  # pip-audit gives up
        reporting(SKIPPED),  # an index that answers, but not with vulnerabilities
        "print('[]')",
        "pass",
    ],
)
def test_unreachable_database_is_reported_and_is_not_a_failure(program: str) -> None:
    code, output = audited(program)
    assert code == 0 and "COULD NOT BE REACHED" in output


def test_reason_for_an_unreachable_database_is_reported() -> None:
    assert "no route to host" in audited("import sys; sys.exit('ConnectionError: no route to host')")[1]


def test_without_pip_audit_nothing_is_claimed() -> None:
    done = subprocess.run([sys.executable, AUDIT, "/no/such/program"], capture_output=True, text=True)
    assert done.returncode == 0 and "COULD NOT BE REACHED" in done.stdout


@pytest.mark.parametrize(
    "program", ["import sys; sys.exit('ConnectionError')", reporting(SKIPPED), "print('[]')", "pass"]
)
def test_strict_mode_fails_when_the_database_cannot_be_reached(program: str) -> None:
    code, printed = audited(program, "--strict")
    assert code == 1 and "COULD NOT BE REACHED" in printed


def test_strict_mode_fails_when_a_package_is_unknown_or_vulnerable_and_passes_otherwise() -> None:
    assert audited(reporting(SOUND, SKIPPED), "--strict")[0] == 1
    assert audited(reporting(SOUND, WEAK, code=1), "--strict")[0] == 1
    assert audited(reporting(SOUND), "--strict")[0] == 0
    own = {"name": "fansrec", "skip_reason": "distribution marked as editable"}
    local = {
        "name": "torch",
        "skip_reason": "Dependency not found on PyPI and could not be audited: torch (2.13.0+cpu)",
    }
    assert audited(reporting(SOUND, own, local), "--strict")[0] == 0


def test_strict_mode_fails_without_pip_audit() -> None:
    done = subprocess.run([sys.executable, AUDIT, "--strict", "/no/such/program"], capture_output=True, text=True)
    assert done.returncode == 1 and "COULD NOT BE REACHED" in done.stdout
