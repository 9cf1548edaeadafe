"""The tests of the native kernel, run with address and undefined-behavior sanitizers and range checks."""

import subprocess
import sys
from pathlib import Path

import pytest

from sanitizers import environment

HERE = Path(__file__).parent


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "test_backend.py",
        "test_hybrid.py",
        "test_linear.py",
        "test_rounded.py",
        "test_integers.py",
        "test_checks.py",
        "test_item_ids.py",
    ],
)
def test_native_tests_pass_under_sanitizers(name: str, sanitized: Path) -> None:
    """Covers all vector widths: some of these tests run the narrower ones in separate processes."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / name)]
    ran = subprocess.run(command, env=environment(sanitized), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-5000:] + ran.stderr[-5000:]
