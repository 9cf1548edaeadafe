"""Reload a hundred times between two models under load: no request may be lost or answered by a mixture.

    python -m benchmarks.reliability.reload [--times 100]

The service serves a symbolic link, which is switched from one model to the other before each reload. The answers of
each model are computed beforehand. Then a rollback and damaged models are tested.
"""

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reliability.broken_models import broken_models
from benchmarks.reliability.capacity import peak
from benchmarks.reliability.encoding import encoded
from benchmarks.reliability.load import Load
from benchmarks.reliability.load_process import start_load
from benchmarks.reliability.memory import memory_of
from benchmarks.reliability.models import Request, make_model, make_requests, size_of
from benchmarks.reliability.report import Report, argument_parser, run
from benchmarks.reliability.service import Service, service

from fansrec.serving.http.keys import new_key

SHARE = 0.2  # of the capacity: loading always takes half of two cores, checking a good part of the rest
CLOSE = 1e-5


def measure(report: Report, options: argparse.Namespace) -> None:
    size, times = size_of(options.quick), options.times or (4 if options.quick else 100)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = [make_model(folder / f"model-{seed}", size, seed) for seed in (0, 1)]
        broken = broken_models(models[0], folder)
        requests = make_requests(size, 48, lists=2)
        alone = dict(answers_of(model, requests) for model in models)
        keys = folder / "keys"
        key = new_key(keys, "operator", "admin")
        link = folder / "current"
        point(link, models[0])
        with service([f"fans={link}"], key=key, keys=keys) as running:
            sent = [encoded(body=request.body, headers={"Authorization": f"Bearer {key}"}) for request in requests]
            rate = SHARE * peak(running, sent, 0.5 if options.quick else 3.0).goodput()
            with start_load(Load(running.port, sent, 3600, rate=rate, connections=256), Check(alone)) as under_load:
                with memory_of(running) as memory:
                    reload_often(report, running, link, models, list(alone), times)
                early, late = memory.peaks()
                report.note(
                    f"peak memory at the start and at the end, {times} reloads",
                    f"{early:.0f} and {late:.0f} MB",
                    memory=memory.row(),
                )
                roll_back(report, running)
                refuse(report, running, link, broken)
                tally = under_load.end()
    dropped = tally.wrong(options.quick)
    report.require(f"lost or wrong, of {tally.sent:,} requests", "0", dropped or 0, not dropped, load=tally.row())
    report.require("models that answered", "2", len(tally.notes), len(tally.notes) == 2, answers=dict(tally.notes))
    report.note("p50, p99 and slowest", ", ".join(f"{tally.percentile(p):.1f}" for p in (50, 99, 100)) + " ms")


class Check:
    """Compares every answer with that of the model it names."""

    def __init__(self, alone: dict[str, list[Any]]) -> None:
        self.alone = alone
        self.notes: Counter[str] = Counter()  # answers of each model

    def __call__(self, number: int, status: int, body: bytes) -> str | None:
        if status != 200:
            return None
        answer = json.loads(body)
        expected = self.alone.get(answer["model"]["hash"])
        if expected is None:
            return "from an unknown model"
        self.notes[answer["model"]["hash"]] += 1
        for one, other in zip(answer["answers"], expected[number % len(expected)], strict=True):
            if [position["item"] for position in one["positions"]] != other[0]:
                return "items differ from those of the model"
            scores = [position["score"] for position in one["positions"]]
            if any(abs(score - right) > CLOSE for score, right in zip(scores, other[1], strict=True)):
                return "scores differ from those of the model"
        return None


def answers_of(model: Path, requests: Sequence[Request]) -> tuple[str, list[Any]]:
    """Return a model's hash, and items and scores of each list of each request."""
    import fansrec

    alone = fansrec.load(model)
    answered = []
    for request in requests:
        lists = [[f"t{item}" for item in given] for given in request.lists]
        answers = alone.continue_lists(lists, request.k)
        answered.append([(answer.items, [position.score for position in answer.positions]) for answer in answers])
    return alone.artifact.hash, answered


def point(link: Path, target: Path) -> None:
    """Replace the link atomically, as deployments do."""
    new = link.with_name("next")
    new.symlink_to(target)
    new.replace(link)


def reload_often(
    report: Report, running: Service, link: Path, models: Sequence[Path], hashes: Sequence[str], times: int
) -> None:
    took, wrong = [], Counter[str]()
    for number in range(1, times + 1):
        point(link, models[number % 2])
        began = time.monotonic()
        status, answer = running.ask("/v1/models/reload", method="POST", timeout=120)
        took.append(time.monotonic() - began)
        if status != 200 or answer["changed"] != ["fans"] or served(running) != hashes[number % 2]:
            wrong[f"{status}: {answer}"] += 1
    report.require(f"failed of {times} reloads", "0", dict(wrong) or 0, not wrong, seconds=took)
    report.note("duration of a reload, p50 and slowest", f"{np.median(took):.2f} and {max(took):.2f} s")
    status, answer = running.ask("/v1/models/reload", method="POST", timeout=120)
    report.require(
        "reloading the model that is already served",
        "200, nothing changed",
        f"{status}, {answer.get('changed')}",
        status == 200 and answer["changed"] == [],
    )


def served(running: Service) -> str:
    return str(running.ask("/v1/models")[1]["models"][0]["hash"])


def roll_back(report: Report, running: Service) -> None:
    now = served(running)
    began = time.monotonic()
    status, _ = running.ask("/v1/models/rollback", method="POST", timeout=120)
    took, back = time.monotonic() - began, served(running)
    report.require("rollback to the previous model", "200", status, status == 200 and back != now, seconds=took)
    report.note("duration of a rollback", f"{took * 1000:.0f} ms")


def refuse(report: Report, running: Service, link: Path, broken: dict[str, Path]) -> None:
    before = served(running)
    for name, place in broken.items():
        point(link, place)
        status, answer = running.ask("/v1/models/reload", method="POST", timeout=120)
        passed = status == 422 and served(running) == before
        report.require(
            f"reload of a model with: {name}",
            "422, the old one keeps serving",
            f"{status}{'' if served(running) == before else ', another one serves'}",
            passed,
            detail=answer.get("detail") if isinstance(answer, dict) else answer,
        )


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--times", type=int, help="number of reloads")
    run("reload", parser, measure)


if __name__ == "__main__":
    main()
