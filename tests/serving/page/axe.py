"""axe-core, which finds faults of accessibility in a page: `make programs` fetches it with npm."""

import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

from skipping import skip_or_fail

SCRIPT = Path("node_modules/axe-core/axe.min.js")
RUN = """async () => {
  const dialog = document.querySelector("dialog[open]"); // makes everything else inert
  return (await axe.run(dialog ?? document, { resultTypes: ["violations"] })).violations;
}"""


@cache
def _script() -> str | None:
    """Return the source of axe-core, from `$AXE_CORE` or the folder of this Python."""
    path = Path(os.environ.get("AXE_CORE") or Path(sys.prefix) / SCRIPT)
    return path.read_text(encoding="utf-8") if path.is_file() else None


def violations(page: Any) -> list[str]:
    """Return each violation of the page as it is now: the rule and the elements; skip the test without axe-core."""
    script = _script()
    if script is None:
        skip_or_fail(
            "axe-core is not installed: accessibility is not checked. Fetch it with: make programs (needs npm)"
        )
    if not page.evaluate("'axe' in window"):
        page.evaluate(script + "; null")  # not as a script element, which the page's security policy would refuse
    found = page.evaluate(RUN)
    return [f"{rule['id']}: {', '.join(node['html'][:120] for node in rule['nodes'][:3])}" for rule in found]
