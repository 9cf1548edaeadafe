"""Check that a tag fits what would be released: `make check-release TAG=v1.2.3`. Needs the standard library only."""

import re
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def read(name: str, root: Path = ROOT) -> str:
    return (root / name).read_text(encoding="utf-8")


def version(root: Path = ROOT) -> str:
    """Return the version of the package, which is written in one place."""
    found = re.search(r'^__version__ = "([^"]+)"$', read("src/fansrec/__init__.py", root), re.MULTILINE)
    assert found is not None
    return found[1]


def problems(tag: str, root: Path = ROOT) -> list[str]:
    """Return what has to be changed before the tag can be released."""
    own, found = version(root), []
    if tag != f"v{own}":
        found.append(f"the tag is {tag}, and the version in src/fansrec/__init__.py is {own}; tag v{own}, or change it")
    heading = re.search(rf"^## \[?{re.escape(own)}\]?(.*)$", read("CHANGELOG.md", root), re.MULTILINE)
    if heading is None:
        found.append(f"CHANGELOG.md has no section {own}; write one")
    elif not _is_date(heading[1].strip(" -–")):
        found.append(f"the section {own} of CHANGELOG.md has no date; write `## [{own}] - {date.today().isoformat()}`")
    for name in ("deploy/Dockerfile", "deploy/compose.yaml"):
        if f"fansrec:{own}" not in read(name, root):
            found.append(f"{name} names another version of the image; write fansrec:{own}")
    return found


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/check_release.py TAG")
    found = problems(sys.argv[1])
    print("\n".join(found) or f"{sys.argv[1]} can be released")
    sys.exit(1 if found else 0)
