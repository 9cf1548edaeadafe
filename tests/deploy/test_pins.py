"""What the serving image is made of: base images by digest, packages by hash."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
LOCKS = ["requirements.txt", "requirements-build.txt"]


def pins(name: str) -> dict[str, str]:
    """Return the version of each package of a lock, by name, after checking that every line has its form."""
    text = "\n".join(line for line in (DEPLOY / name).read_text().splitlines() if not line.startswith("#"))
    lines = text.replace("\\\n", " ").splitlines()
    found = [re.fullmatch(r"([a-z0-9-]+)==([\w.+]+)((?: +--hash=sha256:[0-9a-f]{64})+) *", line) for line in lines]
    assert found and all(found), [line for line, one in zip(lines, found, strict=True) if not one]
    return {one[1]: one[2] for one in found if one}


def constraints() -> dict[str, str]:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    return dict(line.replace("_", "-").split("==") for line in lines)


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_is_pinned_with_hashes_and_agrees_with_the_constraints(name: str) -> None:
    tested = constraints()
    for package, version in pins(name).items():
        assert version.partition("+")[0] == tested.get(package, version.partition("+")[0]), package


def test_the_lock_holds_what_serving_needs_and_no_torch() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["serve"]]
    locked = pins("requirements.txt")
    assert {re.split(r"[><=\[]", one)[0] for one in needed} <= locked.keys()
    assert not [name for name in locked if re.match(r"torch|nvidia|cuda|triton", name)]


def test_the_image_installs_only_what_is_locked() -> None:
    installs = re.findall(r"\bpip (?:install|wheel) (.*?)(?=&&|$)", DOCKERFILE, re.M)
    assert len(installs) == 4
    for options in installs:
        assert "--require-hashes" in options or "--no-deps" in options, options
    assert "--no-build-isolation" in " ".join(installs)


def test_base_images_are_given_by_digest() -> None:
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.M)
    assert len(bases) == 2
    assert all(re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", base) for base in bases)


def test_the_links_of_the_security_policy_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / "SECURITY.md").read_text())
    assert links and all((ROOT / link).exists() for link in links)
    assert "(SECURITY.md)" in (ROOT / "CONTRIBUTING.md").read_text()
