"""examples/live_updates: changes reach a running service, whatever happens to the service or to the program."""

import json
import os
import re
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fansrec
from examples.conftest import Shop
from examples.relay import REFUSALS, Relay
from fansrec.serving.writes.records import read_lines
from fansrec.serving.writes.store import FILE
from serving.service import DEADLINE_S, free_ports, until

PROGRAM = Path(__file__).parents[2] / "examples" / "live_updates" / "follow.py"


class Follower:
    """The program, with what it printed and logged."""

    def __init__(self, shop: Shop, url: str, *arguments: object, **more: Any) -> None:
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, url, *map(str, arguments)],
            env=os.environ | {"FANS_KEY": shop.keys["write"]},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Processes inherit an ignored Ctrl-C from a shell that runs the tests in the background.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            **more,
        )
        self.printed, self.logged = list[str](), list[str]()
        self._threads = [
            threading.Thread(target=lines.extend, args=[pipe], daemon=True)
            for lines, pipe in ((self.printed, self.process.stdout), (self.logged, self.process.stderr))
        ]
        for thread in self._threads:
            thread.start()

    def has_logged(self, pattern: str) -> bool:
        return re.search(pattern, "".join(self.logged)) is not None

    def stop(self, number: int) -> None:
        self.process.send_signal(number)
        self.ended()

    def ended(self) -> int:
        code = self.process.wait(DEADLINE_S)
        for thread in self._threads:
            thread.join(DEADLINE_S)
        return code


def line(**change: Any) -> str:
    return json.dumps(change) + "\n"


@pytest.fixture
def client(shop: Shop) -> Iterator[fansrec.Client]:
    with fansrec.Client(shop.url, shop.keys["write"], timeout=DEADLINE_S) as client:
        yield client


def test_changes_from_a_pipe_change_the_answer(shop: Shop) -> None:
    follower = Follower(shop, shop.url, "-", "--watch", "pipe-1", "i3", stdin=subprocess.PIPE)
    assert follower.process.stdin is not None
    assert until(lambda: len(follower.printed) == 1)
    assert follower.printed[0].startswith("before: ") and "pipe-2" not in follower.printed[0]
    lists = [line(list={"id": f"pipe {number}", "items": ["i3", "pipe-1", "pipe-2"]}) for number in range(4)]
    bad = ["not JSON\n", line(other=1), line(list={"id": "pipe 9", "items": []})]
    follower.process.stdin.writelines([line(item={"id": "pipe-2", "name": "A new song"}), *bad, *lists])
    follower.process.stdin.flush()
    assert until(lambda: "pipe-2" in follower.printed[-1])
    follower.process.stdin.write(line(remove="pipe 0") * 2 + line(remove="pipe 1").rstrip())  # without an end of line
    follower.process.stdin.close()
    assert follower.ended() == 0, follower.logged
    assert "pipe-2" in follower.printed[-1]  # two lists still contain it
    for left_out in ("not JSON", "'other' is not list", "pipe 9.*at least 1"):
        assert follower.has_logged(f"left out: .*{left_out}"), follower.logged


def test_file_is_followed_through_failures_of_the_service_and_a_kill(
    shop: Shop, tmp_path: Path, client: fansrec.Client
) -> None:
    changes, port = tmp_path / "changes.jsonl", free_ports()
    offset = Path(f"{changes}.offset")
    items = ["i3", "file-1", "file-2"]
    changes.write_text(line(list={"id": "file 0", "items": items}))

    def is_stored() -> bool:
        return offset.exists() and int(offset.read_text()) == changes.stat().st_size

    follower = Follower(shop, f"http://127.0.0.1:{port}", changes)
    assert until(lambda: follower.has_logged("trying again"))  # nobody listens yet
    with Relay(shop.url, port) as relay:
        assert until(is_stored)
        relay.mode, sent = "lose", len(relay.requests)  # the write is stored, its answer is lost
        with changes.open("a") as file:
            file.write(line(list={"id": "file 1", "items": items}))
            file.write('{"list": {"id": "file 2", ')  # the rest of the line comes later
        assert until(lambda: relay.requests[sent:].count(("POST", "/v1/lists")) > 1)
        relay.mode = "pass"
        assert until(lambda: int(offset.read_text()) > len(line(list={"id": "file 0", "items": items})))
        relay.mode = "hang"
        with changes.open("a") as file:
            file.write(f'"items": {json.dumps(items)}}}}}\n')
        assert until(lambda: any(b"file 2" in body for body in relay.bodies))
        follower.stop(signal.SIGKILL)  # in the middle of a request
        assert not is_stored()
        relay.mode = "pass"
        follower = Follower(shop, relay.url, changes)
        assert until(is_stored)
        follower.stop(signal.SIGINT)
        assert follower.process.returncode == 130
    records = [found.record for found in read_lines(shop.writes / FILE)]
    written = [one["list"]["id"] for record in records for one in record.get("changes", ()) if "list" in one]
    assert [id for id in dict.fromkeys(written) if id.startswith("file")] == ["file 0", "file 1", "file 2"]
    assert written.count("file 1") > 1  # which changes nothing: the list has its id
    newest = max(record.get("seq", 0) for record in records)
    assert until(lambda: client.models()["models"][0]["seq"] == newest)
    [answer] = client.continue_lists([["file-1"]], k=3)
    assert "file-2" in answer.items


def test_bad_lines_are_left_out_and_the_offset_moves_on(shop: Shop, tmp_path: Path, client: fansrec.Client) -> None:
    changes = tmp_path / "changes.jsonl"
    nested = ["[" * depth + "]" * depth for depth in (900, 960, 990, 100_000)]  # around the limit of Python
    bad = [
        *(line(list={"id": "x", "items": items}) for items in (None, 5, "i3", [None])),
        *(line(remove=id) for id in ("\ud800", "", None, ["p"], "p" * 100_000)),
        *(f'{{"item": {{"id": "deep", "name": {name}}}}}\n' for name in nested),
        line(list={"id": "\ud800", "items": ["i3"]}),
        '{"item": {"id": "n", "name": NaN}}\n',
        "[1]\n",
    ]
    good = line(list={"id": "bad 1", "items": ["i3", "bad-1"]})
    changes.write_text("".join([*bad, good]))
    follower = Follower(shop, shop.url, changes)
    offset = Path(f"{changes}.offset")
    assert until(lambda: offset.exists() and int(offset.read_text()) == changes.stat().st_size), follower.logged
    follower.stop(signal.SIGINT)
    assert follower.process.returncode == 130, follower.logged
    assert "".join(follower.logged).count("left out: ") == len(bad) and not follower.has_logged("Traceback")
    assert until(lambda: not client.continue_lists([["i3", "bad-1"]], k=1)[0].unknown)  # the good line is stored


def test_changes_wait_while_the_service_takes_no_writes(shop: Shop, tmp_path: Path) -> None:
    changes = tmp_path / "changes.jsonl"
    offset = Path(f"{changes}.offset")
    changes.write_text(line(list={"id": "wait", "items": ["i3"]}))

    def is_stored() -> bool:
        return offset.exists() and int(offset.read_text()) == changes.stat().st_size

    with Relay(shop.url) as relay:
        follower = Follower(shop, relay.url, changes)
        assert until(is_stored)
        for number, mode in enumerate(REFUSALS):
            relay.mode = mode
            with changes.open("a") as file:
                file.write(line(list={"id": f"wait {number}", "items": ["i3"]}) * 2)
            refusal = REFUSALS[mode].detail.split(";")[0]
            assert until(lambda refusal=refusal: follower.has_logged(f"trying again: .*{refusal}"))
            assert not is_stored()
            relay.mode = "pass"
            assert until(is_stored)
        follower.stop(signal.SIGINT)
    assert not follower.has_logged("left out"), follower.logged


@pytest.mark.parametrize("text", ["", "half", "-1", "1000"])
def test_wrong_offset_ends_the_program(shop: Shop, tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = tmp_path / "changes.jsonl"
    changes.write_text(line(remove="p1"))
    Path(f"{changes}.offset").write_text(text)
    monkeypatch.syspath_prepend(PROGRAM.parent)
    program = runpy.run_path(str(PROGRAM))
    with pytest.raises(fansrec.FansError, match="remove it"):
        program["read_offset"](Path(f"{changes}.offset"), changes.stat().st_size)


@pytest.mark.parametrize(("role", "path", "said"), [("use", "-", "write"), ("write", "missing.jsonl", "No such file")])
def test_what_cannot_work_ends_the_program(shop: Shop, role: str, path: str, said: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, PROGRAM, shop.url, path],
        input=line(list={"id": "p1", "items": ["i1"]}),
        env=os.environ | {"FANS_KEY": shop.keys[role]},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert said in done.stderr.splitlines()[-1]
