"""What can be reproduced, from the TOML files of this folder: systems, data sets, experiments, published numbers."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

from fansrec.errors import BadSetting

DEFAULT_CATEGORIES = 10  # the paper's N, unless it says otherwise
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class System:
    """A row of the paper's tables: a model with its settings and generation mode."""

    name: str
    title: str
    model: str
    settings: Mapping[str, Any]
    generation: str | None = None  # None: the model's default generation mode
    family: str = ""  # autoregressive, the classifier of FANS, or none
    deterministic: bool = False
    cost: float = 1.0  # relative training time

    @property
    def training(self) -> str:
        """Identifies the training run; systems with the same value share their weights."""
        return f"{self.model} {sorted(self.settings.items())}"


@dataclass(frozen=True)
class Dataset:
    name: str
    title: str  # its name in the paper, if it is there


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper."""

    name: str
    title: str
    systems: tuple[str, ...] = ()
    categories: tuple[int, ...] = (DEFAULT_CATEGORIES,)
    against: str | None = None  # the system that others are compared with
    latency: Mapping[str, Any] | None = None  # how trained models are timed
    extra: Mapping[str, Any] = field(default_factory=dict)  # its section of experiments.toml

    def pairs(self) -> list[tuple[str, int]]:
        """Return the systems to train, each with its number of categories."""
        own = [(system, number) for number in self.categories for system in self.systems]
        reference = [] if self.against is None or not self.systems else [(self.against, DEFAULT_CATEGORIES)]
        return list(dict.fromkeys(own + reference))


@dataclass(frozen=True)
class Selection:
    """The experiments, data sets and seeds to reproduce."""

    experiments: tuple[Experiment, ...]
    datasets: tuple[Dataset, ...]
    seeds: tuple[int, ...] = SEEDS
    settings: Mapping[str, Any] = field(default_factory=dict)  # override those of every system
    quick: bool = False

    @property
    def category_counts(self) -> list[int]:
        """The numbers of categories that corpora are needed with."""
        return sorted({n for one in self.experiments for _, n in one.pairs()} or {DEFAULT_CATEGORIES})


@cache
def _read(path: str) -> dict[str, Any]:
    return tomllib.loads(files("fansrec.experiments.paper").joinpath(path).read_text(encoding="utf-8"))


def published(name: str) -> dict[str, Any]:
    """Return the paper's numbers: table1, table2, table3, table4, industry or claims."""
    return _read(f"published/{name}.toml")


@cache
def systems() -> dict[str, System]:
    raw = _read("systems.toml")
    return {name: _system(name, values, raw) for name, values in raw["systems"].items()}


def _system(name: str, values: Mapping[str, Any], raw: Mapping[str, Any]) -> System:
    """Return a system; names that are not fields of a system are settings of its model."""
    trained = raw["systems"][values["weights_of"]] if "weights_of" in values else values
    fields = System.__dataclass_fields__
    settings = {key: value for key, value in trained.items() if key not in fields}
    own = {"title": name, "family": settings.get("classifier", "")}
    own |= {key: value for key, value in values.items() if key in fields}
    by_gradient = {} if values.get("deterministic") else raw["trained"]
    all_settings = raw["shared"] | by_gradient | settings
    return System(**{**own, "name": name, "model": trained["model"], "settings": all_settings})


@cache
def datasets() -> dict[str, Dataset]:
    return {name: Dataset(name, title) for name, title in _read("datasets.toml").items()}


@cache
def experiments() -> dict[str, Experiment]:
    return {name: _experiment(name, values) for name, values in _read("experiments.toml").items()}


def _experiment(name: str, values: Mapping[str, Any]) -> Experiment:
    """Return an experiment; its systems are in a list, in the rows of its table, or in pairs."""
    named = [*values.get("systems", ()), *values.get("rivals", ())]
    named += [system for row in values.get("rows", {}).values() for system in row]
    named += [system for pair in values.get("pairs", {}).items() for system in pair]
    own = {key: value for key, value in values.items() if key in ("title", "against", "latency")}
    categories = tuple(values.get("categories", (DEFAULT_CATEGORIES,)))
    return Experiment(name, systems=tuple(named), categories=categories, extra=values, **own)


def _check_names(names: Iterable[str], kind: str, known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise BadSetting(f"there is no {kind} {name!r}; choose from {', '.join(known)}")


def select(
    names: Sequence[str],
    dataset_names: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    quick: bool = False,
) -> Selection:
    """Return what the options of `fans reproduce` select; `quick` limits everything to a smoke test."""
    _check_names(names, "experiment", [*experiments(), "all"])
    selected = [experiments()[name] for name in dict.fromkeys(experiments() if "all" in names else names)]
    if dataset_names is None:
        dataset_names = _read("quick.toml")["datasets"] if quick else [name for name in datasets() if name != "sample"]
    elif not dataset_names:
        raise BadSetting(f"--datasets names no data set; choose from {', '.join(datasets())}")
    _check_names(dataset_names, "data set", list(datasets()))
    sets = tuple(datasets()[name] for name in dict.fromkeys(dataset_names))
    if quick:
        if seeds is not None:
            raise BadSetting("--quick uses a fixed seed; leave out --quick or --seeds")
        limits = _read("quick.toml")
        return Selection(tuple(map(_quick, selected)), sets, tuple(limits["seeds"]), limits["settings"], quick=True)
    requested = SEEDS if seeds is None else tuple(dict.fromkeys(seeds))
    if not requested or min(requested) < 0:
        raise BadSetting(f"--seeds {','.join(map(str, requested))}: seeds are integers >= 0, such as 0,1,2")
    return Selection(tuple(selected), sets, requested)


def _quick(experiment: Experiment) -> Experiment:
    """Return the experiment with the limits of `quick.toml`."""
    limits = _read("quick.toml")
    few = tuple(n for n in experiment.categories if n in limits["categories"]) or (DEFAULT_CATEGORIES,)
    extra = {
        name: {**value, **limits[name]} if name in limits and isinstance(value, dict) else value
        for name, value in experiment.extra.items()
    }
    return replace(experiment, categories=few, extra=extra, latency=experiment.latency and limits["latency"])
