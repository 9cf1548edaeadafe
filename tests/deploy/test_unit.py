"""The systemd unit against what the service does."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

UNIT = Path(__file__).resolve().parents[2] / "deploy" / "fans.service"


def test_the_unit_lets_background_work_lower_its_priority() -> None:
    filters = re.findall(r"^SystemCallFilter=(.*)$", UNIT.read_text(), re.M)
    forbidding = max(at for at, line in enumerate(filters) if line.startswith("~") and "@resources" in line)
    allowing = [at for at, line in enumerate(filters) if "setpriority" in line.split()]
    assert allowing and allowing[-1] > forbidding  # a later line goes before an earlier one


def test_the_unit_has_no_network_but_the_socket_that_systemd_opens() -> None:
    text = UNIT.read_text()
    for line in ("PrivateNetwork=yes", "IPAddressDeny=any", "RestrictAddressFamilies=AF_UNIX", "Requires=fans.socket"):
        assert f"\n{line}\n" in text
    settings = tomllib.loads(UNIT.with_name("fans.toml").read_text())
    listening = re.findall(r"^ListenStream=(.*)$", UNIT.with_name("fans.socket").read_text(), re.M)
    assert listening == [f"{settings['host']}:{settings['port']}"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="this machine does not run systemd")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    for name in ("fans.service", "fans.socket"):
        text = UNIT.with_name(name).read_text().replace("/opt/fans/bin/fans", "/bin/true")
        (tmp_path / name).write_text(text.replace("User=fans", "User=root").replace("Group=fans", "Group=root"))
    command = ["systemd-analyze", "verify", "--man=no", *map(str, sorted(tmp_path.iterdir()))]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not [line for line in done.stderr.splitlines() if str(tmp_path) in line or "fans." in line], done.stderr
