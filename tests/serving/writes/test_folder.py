"""The folder of --writes belongs to one service at a time."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fansrec.errors import BadSetting
from fansrec.serving.writes.folder import locked_folder

HOLD = """
import sys, time
from pathlib import Path
from fansrec.serving.writes.folder import locked_folder
with locked_folder(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(600)
"""


def test_folder_is_created_for_its_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "writes"
    with locked_folder(folder):
        assert folder.stat().st_mode & 0o777 == 0o700
    with locked_folder(folder):  # it may exist, and is unlocked at the end
        pass
    with locked_folder(None):
        assert [*tmp_path.iterdir()] == [folder]


def test_second_service_is_refused_until_the_first_one_has_ended_however_it_ends(tmp_path: Path) -> None:
    first = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True)
    try:
        assert first.stdout is not None and first.stdout.readline() == "locked\n"
        with (
            pytest.raises(BadSetting, match=f"another service already writes to {tmp_path}"),
            locked_folder(tmp_path, 0),
        ):
            pass
        first.send_signal(signal.SIGKILL)
        with locked_folder(tmp_path, 60):  # also if the killed process has not quite ended
            pass
    finally:
        first.kill()
        first.wait()


def test_process_that_the_service_starts_does_not_keep_the_lock(tmp_path: Path) -> None:
    with locked_folder(tmp_path):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    try:
        with locked_folder(tmp_path, 60):  # the system closes files a moment after it starts a program
            pass
    finally:
        child.communicate(b"\n")


def test_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "missing" / "writes"):
        with pytest.raises(BadSetting, match="the folder of (--)?writes cannot be used"), locked_folder(folder):
            pass
    (tmp_path / "closed").mkdir(mode=0o500)
    if os.getuid():  # root may write everywhere
        with pytest.raises(BadSetting, match="cannot be written"), locked_folder(tmp_path / "closed"):
            pass
