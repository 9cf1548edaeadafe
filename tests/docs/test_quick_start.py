"""The quick start of the home page, command by command, as a new user with a small file of lists."""

import re
import shlex
import string
import subprocess
import sys
from pathlib import Path

import pytest

from serving.service import FANS, Running

HOME = Path(__file__).parents[2] / "docs/README.md"
SONGS = string.ascii_lowercase[:20]


def code_blocks() -> list[str]:
    quick_start = HOME.read_text(encoding="utf-8").split("## Quick start")[1].split("\n## ")[0]
    return re.findall(r"^```\w*\n(.*?)^```", quick_start, re.MULTILINE | re.DOTALL)


def write_playlists(path: Path) -> None:
    rows = [f"l{number},{SONGS[(number + step) % 20]},{step}" for number in range(60) for step in range(10)]
    path.write_text("\n".join(["list,item,position", *rows]), encoding="utf-8")


@pytest.mark.long
def test_quick_start_of_the_home_page_runs_as_written(tmp_path: Path) -> None:
    _, commands, python = code_blocks()
    write_playlists(tmp_path / "playlists.csv")
    lines = [shlex.split(line, comments=True) for line in commands.replace("SONG-ID", "a").splitlines()]
    assert [line[:2] for line in lines] == [["fans", verb] for verb in ("prepare", "train", "continue", "serve")]
    for _, *arguments in lines[:3]:
        done = subprocess.run([FANS, *arguments], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 10
    with Running(tmp_path / lines[3][2]) as service:
        assert len(service.ask([["a"]]).json()["answers"]) == 1
    again = python.replace("/mine", "/again")  # the folders of the commands are not replaced
    done = subprocess.run([sys.executable, "-c", again], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "a" not in done.stdout and done.stdout.count("'") == 20
