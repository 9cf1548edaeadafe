"""`make audit`: known vulnerabilities of the packages in this environment, looked up by pip-audit.

Exit code 1 only where one is found. Where the database cannot be reached nothing is known, and that is said, so that
nobody takes silence for safety and no build fails for want of a network.
"""

import json
import subprocess
import sys
from typing import Any

COMMAND = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off", "--skip-editable"]
PATIENCE_S = 600
UNREACHED = "audit: THE VULNERABILITY DATABASE COULD NOT BE REACHED; nothing is known about {what}."


def main(command: list[str]) -> int:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return _told(UNREACHED.format(what="any package"), str(error))
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):  # it broke off: what it said last tells why
        return _told(UNREACHED.format(what="any package"), *done.stderr.strip().splitlines()[-1:])
    return _judged(packages)


def _judged(packages: list[dict[str, Any]]) -> int:
    """A package that the database does not answer for is skipped by pip-audit, and that without a word."""
    looked_up = [package for package in packages if "vulns" in package]
    skipped = [package["name"] for package in packages if "vulns" not in package]
    found = [_line(package, one) for package in looked_up for one in package["vulns"]]
    if not looked_up:
        return _told(UNREACHED.format(what=f"all {len(packages)} packages"))
    if skipped:
        _told(f"audit: {len(skipped)} packages could not be looked up: {', '.join(sorted(skipped))}")
    _told(f"audit: {len(looked_up)} packages looked up, {len(found)} vulnerabilities found", *found)
    return 1 if found else 0


def _line(package: dict[str, Any], found: dict[str, Any]) -> str:
    fixed = ", ".join(found.get("fix_versions") or []) or "no version yet"
    return f"{package['name']} {package['version']}: {found['id']} (fixed in {fixed})"


def _told(*lines: str) -> int:
    print("\n  ".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or COMMAND))
