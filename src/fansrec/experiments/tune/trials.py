"""The trials of a search: their log, one line of JSON each, and the settings of the next one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fansrec.errors import BadArtifact
from fansrec.experiments.tune.spaces import Space
from fansrec.files import write_text

LOG = "trials.jsonl"
RANDOM_TRIALS = 8  # before some trials change the best settings a little
CHANGED = 0.3  # share of the settings that are changed then
ATTEMPTS = 50  # to draw settings that were not tried yet


@dataclass(frozen=True)
class Trial:
    """Settings and what they reached on the validation lists."""

    number: int  # from 1; the first one has the defaults
    settings: dict[str, Any]
    figure: float | None  # the validation figure that decides; None if no epoch was finished
    seconds: float
    stopped: str | None = None  # "worse" or "time" if it was not trained to the end
    curve: list[float] = field(default_factory=list)  # the best figure up to each epoch


def best_of(trials: Sequence[Trial]) -> Trial | None:
    """Return the best trial that was trained to the end, the first one in a tie."""
    finished = [one for one in trials if one.stopped is None]
    return max(finished, key=lambda one: one.figure or 0.0, default=None)


def next_settings(
    space: Space, defaults: Mapping[str, Any], trials: Sequence[Trial], seed: int
) -> dict[str, Any] | None:
    """Return the settings of the next trial, which depend on the seed and on the trials before; None if all are tried.

    The first trial has the defaults and the next ones random settings; then every second one changes the best a little.
    """
    if not trials:
        return dict(defaults)
    random, best = np.random.default_rng([seed, len(trials)]), best_of(trials)
    tried = [one.settings for one in trials]
    for _ in range(ATTEMPTS):
        if best is None or len(trials) <= RANDOM_TRIALS or len(trials) % 2:
            settings = {name: values.draw(random) for name, values in space.items()}
        else:
            settings = _changed(space, best.settings, random)
        if settings not in tried:
            return settings
    return None


def _changed(space: Space, settings: Mapping[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """Return the settings with a few small changes, at least one."""
    chosen = random.random(len(space)) < CHANGED
    chosen[random.integers(len(space))] = True
    return {
        name: values.near(settings[name], random) if change else settings[name]
        for (name, values), change in zip(space.items(), chosen.tolist(), strict=True)
    }


def read_trials(path: Path) -> list[Trial]:
    """Return the trials of a log, none if there is no log."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        return [Trial(**json.loads(line)) for line in lines]
    except (ValueError, TypeError) as error:
        raise BadArtifact(f"{path} is damaged ({error}); remove {path.parent} and start again") from error


def write_trials(path: Path, trials: Sequence[Trial]) -> None:
    """Replace the log; it is never incomplete."""
    write_text(path, "".join(json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in trials))
