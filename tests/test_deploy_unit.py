"""The systemd unit against what the service does."""

import re
from pathlib import Path

UNIT = Path(__file__).resolve().parents[1] / "deploy" / "fans.service"


def test_the_unit_lets_background_work_lower_its_priority() -> None:
    filters = re.findall(r"^SystemCallFilter=(.*)$", UNIT.read_text(), re.M)
    forbidding = max(at for at, line in enumerate(filters) if line.startswith("~") and "@resources" in line)
    allowing = [at for at, line in enumerate(filters) if "setpriority" in line.split()]
    assert allowing and allowing[-1] > forbidding  # a later line goes before an earlier one
