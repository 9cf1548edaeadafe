"""Running the commands and the Python code of a document, in order, in a folder."""

import os
import re
import runpy
import shlex
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import pytest

import fansrec
from docs.commands import PYTHON, ROOT, SHELL, Block, Command, blocks, commands
from fansrec.cli import main
from serving.service import Running

ADDRESS = re.compile(r"http://(?:127\.0\.0\.1|HOST):8080")  # of the service in the documents
FILE = re.compile(r"\(`([\w-]+\.\w+)`\)[^\n]*\n+$")  # before a block that is a file: "New lists (`new.csv`):"
ROLES = {"--admin": "ADMIN_KEY", "--metrics": "METRICS_KEY"}  # variables that documents use for keys of these roles
# A refused request has to fail.
PRELUDE = 'curl() { command curl --silent --show-error --fail-with-body "$@"; }\n'


@dataclass
class Page:
    """How the commands of a document are run."""

    raw: bool = False  # the folder has files of lists only, no corpora and models
    replace: dict[str, str] = field(default_factory=dict)  # patterns in commands and code: placeholders, times
    python: dict[str, str] = field(default_factory=dict)  # further ones in Python code
    skip: dict[str, str] = field(default_factory=dict)  # beginnings of commands that are not run here, and why
    before: str = ""  # commands that come first


class Runner:
    """Runs a document in the current folder; a service that it starts runs until the next one, or the end."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.ran: list[str] = []
        self.skipped: list[str] = []  # keys of `page.skip` that were used
        self.service: Running | None = None
        self.stack = ExitStack()
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        mlflow = {"MLFLOW_TRACKING_URI": "tracking", "MLFLOW_ALLOW_FILE_STORE": "true"}  # in the folder, not a server
        self.environment = os.environ | mlflow | {"PATH": path, "HOME": os.getcwd()}

    def __enter__(self) -> "Runner":
        if self.page.before:
            self.script([self.page.before])
        return self

    def __exit__(self, *error: object) -> None:
        self.stack.close()

    def run(self, path: Path) -> None:
        """Run all commands and all code of a document, and write the files that it shows."""
        text = path.read_text(encoding="utf-8")
        for block in blocks(path):
            if block.language in PYTHON:
                self.code(self._replaced(block.text, self.page.replace | self.page.python))
            elif block.language in SHELL:
                self.shell(block)
            elif name := FILE.search("\n".join(text.splitlines()[: block.line - 1]) + "\n"):
                Path(name[1]).write_text(self._replaced(block.text, self.page.replace), encoding="utf-8")

    def shell(self, block: Block) -> None:
        """Run the commands of a block: services in the background, keys into variables, the others as one script."""
        waiting: list[str] = []
        for command in commands(block):
            reason = next((start for start in self.page.skip if command.text.startswith(start)), None)
            if reason is not None:
                self.skipped.append(reason)
                continue
            text = self._replaced(command.text, self.page.replace)
            words = Command(command.where, text).parts()[-1]
            if words[:2] == ["fans", "serve"] or words[:3] == ["fans", "keys", "add"]:
                self.script(waiting)
                waiting = []
                self.serve(words[2:]) if words[1] == "serve" else self.add_key(text, words)
            else:
                waiting.append(text)
            self.ran.append(text)
        self.script(waiting)

    def serve(self, arguments: list[str]) -> None:
        self.stack.close()
        self.service = self.stack.enter_context(Running(*arguments, "--workers", 1))

    def add_key(self, text: str, words: list[str]) -> None:
        key = self.output(["bash", "-eu", "-c", text]).strip()
        self.environment[next((ROLES[word] for word in words if word in ROLES), "KEY")] = key

    def script(self, lines: list[str]) -> None:
        if lines:
            self.output(["bash", "-euo", "pipefail", "-c", PRELUDE + "\n".join(lines)])

    def code(self, text: str) -> None:
        """Run Python code, in which `import fansrec` may be missing."""
        self.output([sys.executable, "-c", f"import fansrec\n{text}"])

    def output(self, command: list[str]) -> str:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}{done.stderr}"
        return done.stdout

    def _replaced(self, text: str, patterns: dict[str, str]) -> str:
        """Return a command or code for this folder, and for the running service."""
        if self.service is not None:
            text = ADDRESS.sub(self.service.url, text)
        common = {
            r"\b0\.0\.0\.0\b": "127.0.0.1",
            r"/var/lib/": f"{os.getcwd()}/",
            r"PYTHONPATH=src": f"PYTHONPATH={ROOT}/src",
            r"\.venv/bin/fans": "fans",
            r"\b(SONG|TRACK)-ID\b": "s0001",
        }
        for pattern, new in (common | patterns).items():
            text = re.sub(pattern, new, text)
        return text


class InProcess(Runner):
    """Runs `fans` and Python code in this process, where tests can replace parts of them; only services are started."""

    def script(self, lines: list[str]) -> None:
        for line in lines:
            for words in Command("", line).parts():
                if words[0] == "fans":
                    run_fans(words[1:])
                else:
                    self.output(words)

    def code(self, text: str) -> None:
        Path("example.py").write_text(text, encoding="utf-8")
        runpy.run_path("example.py", {"fansrec": fansrec})


def run_fans(arguments: list[str]) -> None:
    """Run `fans` with these arguments in this process."""
    with mock.patch.object(sys, "argv", ["fans", *arguments]), pytest.raises(SystemExit) as end:
        main.run()
    assert not end.value.code, f"fans {shlex.join(arguments)}"
