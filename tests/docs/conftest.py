"""The documentation site, built once, and a browser that shows it from its folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from serving.page.conftest import browser as browser
from serving.page.conftest import chromium as chromium
from skipping import skip_or_fail

ROOT = Path(__file__).parents[2]
SCRIPTS = ("mermaid/dist/mermaid.min.js", "iframe-worker/shim/index.js")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make docs` does, where a broken link is an error, and return its folder."""
    if not all((Path(sys.prefix) / "node_modules" / one).is_file() for one in SCRIPTS):
        skip_or_fail(
            "scripts of the site are not installed: it is not built. Fetch them with: make programs (needs npm)"
        )
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder
