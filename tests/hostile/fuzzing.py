"""Fuzzing of model folders: `fans` must refuse a changed folder in one line, or give a correct answer.

`PYTHONPATH=src:tests python -m hostile.fuzzing NUMBER …` repeats single mutations and prints the outcome; two
numbers are a range. FANS_SANITIZED names a folder of sanitized libraries to use.
"""

import json
import math
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sanitizers
from artifacts import KINDS, write_kind
from hostile.command_server import CommandServer
from hostile.mutations import files_of, mutate

NATIVE = ("fans", "fans-vanilla", "best", "bert4rec", "bert4rec-nar", "sasrec")
# The kinds with the most arrays occur more often.
ROUND = (*KINDS, "best", "best", "best", "best", "fans", "sasrec")
K = 5


class Fuzzer:
    """The original folders of all kinds, and the server that runs commands on their mutations."""

    def __init__(self, folder: Path, server: CommandServer) -> None:
        self.folder, self.server = folder, server
        self.originals = {kind: files_of(write_kind(folder / "originals" / kind, kind)) for kind in KINDS}
        self.outcomes: Counter[str] = Counter()
        best = str(folder / "originals" / "best")
        for backend in ("torch", "native"):
            server.warm_up("continue", best, "i3", "--json", "--backend", backend)
        server.warm_up("export", best, "--out", str(folder / "best.onnx"))
        server.warm_up("continue", str(folder / "nothing"))

    def faults(self, numbers: Iterable[int]) -> list[str]:
        """Try these mutations; return a line for each outcome that is not allowed."""
        return [fault for number in numbers for fault in self.try_one(number)]

    def try_one(self, number: int) -> Iterator[str]:
        choose = random.Random(number)
        kind = ROUND[number % len(ROUND)]
        with self._mutated(kind, choose) as (folder, what):
            for arguments in self._commands(kind, folder, choose):
                answer = self.server.run(*arguments)
                fault = fault_of(answer, folder, arguments[0])
                verb = f"{arguments[0]} {arguments[-1]}" if arguments[0] == "continue" else "export"
                self.outcomes["fault" if fault else "answered" if answer["code"] == 0 else "refused"] += 1
                if fault:
                    yield f"mutation {number} of {kind}, {verb}: {fault} [{what}]"

    @contextmanager
    def _mutated(self, kind: str, choose: random.Random) -> Iterator[tuple[Path, str]]:
        folder = self.folder / "mutated"
        folder.mkdir()
        try:
            yield folder, mutate(self.originals[kind], folder, choose)
        finally:
            shutil.rmtree(folder)

    def _commands(self, kind: str, folder: Path, choose: random.Random) -> list[list[str]]:
        given = choose.choice(([], ["i3", "i4", "i3"], ["i59"], [f"i{n}" for n in range(20)]))
        ask = ["continue", str(folder), *given, "-k", str(K), "--json", "--backend"]
        commands = [[*ask, backend] for backend in (("native", "torch") if kind in NATIVE else ("torch",))]
        if kind in NATIVE and choose.random() < 0.2:
            commands.append(["export", str(folder), "--out", str(self.folder / "mutated" / "out.onnx")])
        return commands


def fault_of(answer: dict[str, Any], folder: Path, verb: str) -> str | None:
    """Return what is wrong with an outcome, or None."""
    code, errors = answer["code"], answer["err"]
    if code not in (0, 2) or "Traceback" in errors:
        return f"ended with {code}: {errors[-1500:]}"
    if code == 2:
        message = errors.removesuffix("\n")
        return None if message and message.isprintable() and len(message) < 5000 else f"refused with {message[:500]!r}"
    return None if verb == "export" else _fault_of_answer(answer["out"], folder)


def _fault_of_answer(text: str, folder: Path) -> str | None:
    try:
        positions = json.loads(text, parse_constant=_not_json)["positions"]
        known = {str(json.loads(line)["id"]) for line in (folder / "items.jsonl").read_text().splitlines()}
    except (ValueError, KeyError, TypeError, OSError) as error:
        return f"an answer that cannot be read ({error}): {text[:500]}"
    items = [str(position["item"]) for position in positions]
    if not 0 < len(items) <= K or len({*items}) < len(items) or not known.issuperset(items):
        return f"an answer of other items: {items}"
    return None if all(math.isfinite(position["score"]) for position in positions) else f"scores: {text[:500]}"


def _not_json(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


if __name__ == "__main__":
    server = CommandServer(
        sanitizers.environment(Path(os.environ["FANS_SANITIZED"])) if "FANS_SANITIZED" in os.environ else None
    )
    with tempfile.TemporaryDirectory() as place:
        fuzzer = Fuzzer(Path(place), server)
        chosen = [int(number) for number in sys.argv[1:]]
        for number in range(*chosen) if len(chosen) == 2 else chosen:
            for fault in fuzzer.try_one(number):
                print(fault, flush=True)
        print(dict(fuzzer.outcomes))
    server.close()
