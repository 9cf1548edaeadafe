"""`make audit`: look up known vulnerabilities of the installed packages with pip-audit.

The exit code is 1 if a vulnerability is found. If the database cannot be reached, a message says that nothing is known,
and the exit code is 0, so that builds without a network do not fail.

With --strict, for a scheduled run that has a network, the exit code is also 1 if the database cannot be reached or does
not know a published package. `make audit STRICT=--strict` uses it.
"""

import argparse
import json
import subprocess
import sys
from typing import Any

COMMAND = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off", "--skip-editable"]
TIMEOUT_S = 600
UNREACHED = "audit: THE VULNERABILITY DATABASE COULD NOT BE REACHED; nothing is known about {what}."


def main(command: list[str], strict: bool) -> int:
    """Run pip-audit, or `command` in its place, and return the exit code."""
    unknown = 1 if strict else 0
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return _report(UNREACHED.format(what="any package"), str(error)) or unknown
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):  # pip-audit failed: its last line gives the reason
        return _report(UNREACHED.format(what="any package"), *done.stderr.strip().splitlines()[-1:]) or unknown
    return _judge(packages, unknown)


def _judge(packages: list[dict[str, Any]], unknown: int) -> int:
    """Print the result and return the exit code; pip-audit silently skips packages that the database does not know."""
    looked_up = [package for package in packages if "vulns" in package]
    skipped = [package["name"] for package in packages if "vulns" not in package]
    found = [_line(package, one) for package in looked_up for one in package["vulns"]]
    if not looked_up:
        return _report(UNREACHED.format(what=f"all {len(packages)} packages")) or unknown
    if skipped:
        _report(f"audit: {len(skipped)} packages could not be looked up: {', '.join(sorted(skipped))}")
    _report(f"audit: {len(looked_up)} packages looked up, {len(found)} vulnerabilities found", *found)
    missed = [package for package in packages if "vulns" not in package and not _unpublished(package)]
    return 1 if found else unknown if missed else 0


def _unpublished(package: dict[str, Any]) -> bool:
    """Return whether no database can know `package`: this project, or a local build such as torch 2.13.0+cpu."""
    reason = package.get("skip_reason", "")
    return "editable" in reason or "+" in reason


def _line(package: dict[str, Any], found: dict[str, Any]) -> str:
    fixed = ", ".join(found.get("fix_versions") or []) or "no version yet"
    return f"{package['name']} {package['version']}: {found['id']} (fixed in {fixed})"


def _report(*lines: str) -> int:
    print("\n  ".join(lines))
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Look up known vulnerabilities of the installed packages")
    parser.add_argument("--strict", action="store_true", help="also fail if a package could not be looked up")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="run this in place of pip-audit")
    options = parser.parse_args()
    sys.exit(main(options.command or COMMAND, options.strict))
