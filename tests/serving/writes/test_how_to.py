"""The commands of the how-to about live updates, against a running service."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from string import Template

import pytest

from fansrec.artifact import read_artifact
from fansrec.serving.writes.store import FILE
from serving.service import Running, until
from serving.writes.conftest import Writing

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to" / "update-live.md"
FANS = Path(sys.executable).with_name("fans")


def section(text: str, title: str) -> str:
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


def blocks(text: str) -> list[str]:
    """Return the blocks without a language."""
    return re.findall(r"^```\n(.*?)```", text, re.MULTILINE | re.DOTALL)


def commands(text: str) -> list[list[str]]:
    """Return the words of all commands in blocks without a language."""
    lines = [line for block in blocks(text) for line in block.replace("\\\n", " ").splitlines()]
    return [shlex.split(line) for line in re.split(r"\n(?=\S)", "\n".join(lines)) if line]


@pytest.fixture(scope="module")
def place(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model behind a link, and the keys that the how-to creates."""
    place = tmp_path_factory.mktemp("how-to")
    shutil.copytree(models / "best", place / "runs" / "first")
    (place / "runs" / "current").symlink_to("first")
    return place


@pytest.fixture(scope="module")
def text(place: Path) -> str:
    text = HOW_TO.read_text(encoding="utf-8").replace("/var/lib/", f"{place}/")
    return re.sub(r"s(\d{4})", lambda id: f"i{int(id[1])}", text)


@pytest.fixture(scope="module")
def running(text: str, place: Path) -> Iterator[Writing]:
    *keys, (_, verb, *options) = commands(section(text, "Start the service"))
    made = [subprocess.run([FANS, *words[1:]], cwd=place, capture_output=True, text=True, check=True) for words in keys]
    write, admin = (done.stdout.strip() for done in made)
    assert verb == "serve"
    for name in ("runs/", "fans.keys"):
        options = [option.replace(name, f"{place}/{name}") for option in options]
    with Running(*options, "--workers", 1) as service:
        yield Writing(service, place / "fans", {"write": write, "admin": admin})


def test_commands_of_the_how_to_work(running: Writing, text: str, place: Path) -> None:
    text = text.replace("http://127.0.0.1:8080", running.running.url)
    keys = {"KEY": running.keys["write"], "ADMIN_KEY": running.keys["admin"]}
    environment = os.environ | keys | {"PATH": f"{FANS.parent}:{os.environ['PATH']}"}

    def output(command: list[str | Path]) -> str:
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(words: list[str]) -> str:
        words = [Template(word).safe_substitute(environment) for word in words]
        return output([FANS if words[0] == "fans" else words[0], *words[1:]])

    def run_block(title: str) -> Path:
        """Run the commands of a section as a script; return the folder of the model that they lead to."""
        script = blocks(section(text, title))[0].replace("rsync -a writer:", "cp ")
        output(["bash", "-eu", "-c", script])
        return (place / "runs" / "current").resolve()

    writes = commands(section(text, "Write"))
    assert [run(words) for words in writes] == ['{"seq":1}', '{"seq":2}', '{"seq":3}']
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    output([sys.executable, "-c", code])
    assert until(lambda: running.models()["mine"]["seq"] == 6)
    log = place / "fans" / FILE
    assert until(lambda: '{"synced":6}' in log.read_text(encoding="utf-8"))  # the log says that all are on the disk

    folded = run_block("Fold the log into the model")
    assert read_artifact(folded).config["writes"]["seq"] == 6
    assert running.models()["mine"]["seq"] == 6
    assert running.send("GET", "/v1/models").json()["writes"]["bytes"] < 150  # without any of the writes

    (place / "fans-copy").mkdir()
    for number in (7, 8):  # a follower does this again and again
        running.write(f"p{number}", ["i1", "i2"])
        assert until(lambda: f'{{"synced":{number}}}' in log.read_text(encoding="utf-8"))  # noqa: B023
        folder = run_block("Several machines")
        assert read_artifact(folder).config["writes"]["seq"] == number
        assert until(lambda: str(datetime.now().strftime("%Y-%m-%dT%H%M%S")) != folder.name)  # noqa: B023
