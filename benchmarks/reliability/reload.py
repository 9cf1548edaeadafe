"""A hundred hot reloads between two models under load: nothing dropped, every answer one of the model it names.

    python -m benchmarks.reliability.reload [--times 100]

The service is started on a link, which is switched from one model to the other before each reload. What each model
answers alone is known beforehand. Then a rollback is tried, and models that are broken in every way there is.
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
from benchmarks.reliability.apart import apart
from benchmarks.reliability.broken_models import broken_models
from benchmarks.reliability.capacity import peak
from benchmarks.reliability.encoding import encoded
from benchmarks.reliability.load import Load
from benchmarks.reliability.models import Asked, make_model, make_requests, size_of
from benchmarks.reliability.promises import Promises, options, run
from benchmarks.reliability.service import Service, service
from benchmarks.reliability.watching import memory_of

from fansrec.serving.http.keys import new_key

SHARE = 0.2  # of what the service can: loading takes half of two cores all the time, checking a good part of the rest
CLOSE = 1e-5


def measure(promises: Promises, asked: argparse.Namespace) -> None:
    size, times = size_of(asked.quick), asked.times or (4 if asked.quick else 100)
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
            rate = SHARE * peak(running, sent, 0.5 if asked.quick else 3.0).goodput()
            with apart(Load(running.port, sent, 3600, rate=rate, connections=256), Check(alone)) as under_load:
                with memory_of(running) as memory:
                    reload_often(promises, running, link, models, list(alone), times)
                early, late = memory.peaks()
                promises.tell(f"most memory at first and at last, {times} reloads", f"{early:.0f} and {late:.0f} MB",
                              memory=memory.row())  # fmt: skip
                roll_back(promises, running)
                refuse(promises, running, link, broken)
                tally = under_load.end()
    dropped = tally.wrong(asked.quick)
    promises.hold(f"dropped or wrong, of {tally.sent:,} requests", "0", dropped or 0, not dropped, load=tally.row())
    promises.hold("models that answered", "2", len(tally.notes), len(tally.notes) == 2, answers=dict(tally.notes))
    promises.tell("p50, p99 and slowest", ", ".join(f"{tally.percentile(p):.1f}" for p in (50, 99, 100)) + " ms")


class Check:
    """Every answer is held against what the model it names gives alone."""

    def __init__(self, alone: dict[str, list[Any]]) -> None:
        self.alone = alone
        self.notes: Counter[str] = Counter()  # answers of each model

    def __call__(self, number: int, status: int, body: bytes) -> str | None:
        if status != 200:
            return None
        answer = json.loads(body)
        expected = self.alone.get(answer["model"]["hash"])
        if expected is None:
            return "of a model nobody knows"
        self.notes[answer["model"]["hash"]] += 1
        for one, other in zip(answer["answers"], expected[number % len(expected)], strict=True):
            if [position["item"] for position in one["positions"]] != other[0]:
                return "other items than the model gives alone"
            scores = [position["score"] for position in one["positions"]]
            if any(abs(score - right) > CLOSE for score, right in zip(scores, other[1], strict=True)):
                return "other scores than the model gives alone"
        return None


def answers_of(model: Path, requests: Sequence[Asked]) -> tuple[str, list[Any]]:
    """A model's hash, and for each request, for each list, items and scores."""
    import fansrec

    alone = fansrec.load(model)
    answered = []
    for request in requests:
        lists = [[f"t{item}" for item in given] for given in request.lists]
        answers = alone.continue_lists(lists, request.k)
        answered.append([(answer.items, [position.score for position in answer.positions]) for answer in answers])
    return alone.artifact.hash, answered


def point(link: Path, target: Path) -> None:
    """As deployments do: a new link takes the place of the old one in one step."""
    new = link.with_name("next")
    new.symlink_to(target)
    new.replace(link)


def reload_often(
    promises: Promises, running: Service, link: Path, models: Sequence[Path], hashes: Sequence[str], times: int
) -> None:
    took, wrong = [], Counter[str]()
    for number in range(1, times + 1):
        point(link, models[number % 2])
        began = time.monotonic()
        status, answer = running.ask("/v1/models/reload", method="POST", timeout=120)
        took.append(time.monotonic() - began)
        if status != 200 or answer["changed"] != ["fans"] or served(running) != hashes[number % 2]:
            wrong[f"{status}: {answer}"] += 1
    promises.hold(f"failed of {times} reloads", "0", dict(wrong) or 0, not wrong, seconds=took)
    promises.tell("a reload takes, p50 and slowest", f"{np.median(took):.2f} and {max(took):.2f} s")
    status, answer = running.ask("/v1/models/reload", method="POST", timeout=120)
    promises.hold("reloading what is served already", "200, nothing changed", f"{status}, {answer.get('changed')}",
                  status == 200 and answer["changed"] == [])  # fmt: skip


def served(running: Service) -> str:
    return str(running.ask("/v1/models")[1]["models"][0]["hash"])


def roll_back(promises: Promises, running: Service) -> None:
    now = served(running)
    began = time.monotonic()
    status, _ = running.ask("/v1/models/rollback", method="POST", timeout=120)
    took, back = time.monotonic() - began, served(running)
    promises.hold("rollback to the model before", "200", status, status == 200 and back != now, seconds=took)
    promises.tell("a rollback takes", f"{took * 1000:.0f} ms")


def refuse(promises: Promises, running: Service, link: Path, broken: dict[str, Path]) -> None:
    before = served(running)
    for name, place in broken.items():
        point(link, place)
        status, answer = running.ask("/v1/models/reload", method="POST", timeout=120)
        kept = status == 422 and served(running) == before
        promises.hold(f"reload of a model with: {name}", "422, the old one serves on",
                      f"{status}{'' if served(running) == before else ', another one serves'}", kept,
                      detail=answer.get("detail") if isinstance(answer, dict) else answer)  # fmt: skip


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--times", type=int)
    run("reload", parser, measure)


if __name__ == "__main__":
    main()
