"""Fit one model of a library and answer lists with it: `python -m benchmarks.peers.worker JOB.json`.

A job names a module of this folder and one of its models, the files of the lists and of the inputs, and the candidates:
settings that are tried in this order. The answers and times of a candidate are written as soon as it is finished, so
that a process that is stopped leaves those before, and a line on standard output reports it. A module has a function
`open_model(name)`, which returns a `Model`.
"""

import importlib
import sys
import time
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from benchmarks.peers.files import Lists, answers_file, read_json, read_lists, results_file, write_json
from numpy.typing import NDArray

K = 10
WARM_UP = 10  # calls with one list
SINGLE_LISTS = 200
SINGLE_S = 30.0  # stop measuring single lists after this time


class Model(Protocol):
    """A model of a library."""

    def fit(self, settings: dict[str, Any], lists: Lists, items: int) -> None:
        """Fit to lists of the item indices 0 to `items` - 1; a second call may continue where the first one ended."""

    def answer(self, inputs: Lists, k: int) -> NDArray[np.int64]:
        """Return the best k items of each input, (inputs, k), without items of the input, -1 where there are fewer."""


def main() -> None:
    job = read_json(Path(sys.argv[1]))
    model: Model = importlib.import_module(job["module"]).open_model(job["model"])
    lists, inputs, folder = read_lists(Path(job["lists"])), read_lists(Path(job["inputs"])), Path(job["folder"])
    results: list[dict[str, Any]] = []
    for number, settings in enumerate(job["candidates"]):
        began = time.perf_counter()
        model.fit(settings, lists, job["items"])
        times = {"settings": settings, "fit_s": time.perf_counter() - began}
        answers, batch_s = answer_all(model, inputs)
        times |= {"batch_s": batch_s} | (single_times(model, inputs) if job["timed"] else {})
        np.save(answers_file(folder, number), answers)
        results.append(times)
        write_json(results_file(folder), results)
        print(f"  {number + 1} of {len(job['candidates'])}: fitted in {times['fit_s']:.1f} s", flush=True)


def answer_all(model: Model, inputs: Lists) -> tuple[NDArray[np.int64], float]:
    """Return the answers to all inputs in one call, and the seconds that it took, after a small call as warm-up."""
    model.answer(inputs[:WARM_UP], K)
    began = time.perf_counter()
    answers = model.answer(inputs, K)
    return answers, time.perf_counter() - began


def single_times(model: Model, inputs: Lists) -> dict[str, Any]:
    """Return the median time of calls with one list each, over evenly spaced lists."""
    step = max(1, len(inputs) // SINGLE_LISTS)
    for one in inputs[:WARM_UP]:
        model.answer([one], K)
    seconds: list[float] = []
    for one in inputs[::step][:SINGLE_LISTS]:
        began = time.perf_counter()
        model.answer([one], K)
        seconds.append(time.perf_counter() - began)
        if sum(seconds) > SINGLE_S:
            break
    return {"ms_per_list": 1000 * float(np.median(seconds)), "single_lists": len(seconds)}


if __name__ == "__main__":
    main()
