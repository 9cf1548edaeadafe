"""What there is to redo, as the TOML files beside this one say: systems, datasets, experiments, published numbers."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

from fansrec.errors import BadSetting

USUAL_CATEGORIES = 10  # the paper's N unless it says otherwise
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class System:
    """A name of the paper: a model trained with some settings and asked in some way."""

    name: str
    title: str
    model: str
    settings: Mapping[str, Any]
    family: str
    generation: str | None = None  # None: the model's own
    deterministic: bool = False
    cost: float = 1.0

    @property
    def training(self) -> str:
        """Systems with one training share their weights."""
        return f"{self.model} {sorted(self.settings.items())}"


@dataclass(frozen=True)
class Dataset:
    name: str
    title: str
    published: str | None = None  # its name in the paper


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper; what only it has is in `more`."""

    name: str
    title: str
    systems: tuple[str, ...] = ()
    categories: tuple[int, ...] = (USUAL_CATEGORIES,)
    against: str | None = None
    latency: Mapping[str, Any] | None = None  # how trained models are timed
    more: Mapping[str, Any] = field(default_factory=dict)

    def pairs(self) -> list[tuple[str, int]]:
        """Which systems are trained, with how many categories."""
        wanted = [(system, number) for number in self.categories for system in self.systems]
        beside = [] if self.against is None or not self.systems else [(self.against, USUAL_CATEGORIES)]
        return list(dict.fromkeys(wanted + beside))


@dataclass(frozen=True)
class Choice:
    """What of it all is redone, and how thoroughly."""

    experiments: tuple[Experiment, ...]
    datasets: tuple[Dataset, ...]
    seeds: tuple[int, ...] = SEEDS
    settings: Mapping[str, Any] = field(default_factory=dict)  # on top of every system's own
    quick: bool = False


@cache
def read(path: str) -> dict[str, Any]:
    return tomllib.loads(files("fansrec.experiments.paper").joinpath(path).read_text(encoding="utf-8"))


def published(name: str) -> dict[str, Any]:
    """The paper's numbers: table1, table2, table3, table4, industry, claims."""
    return read(f"published/{name}.toml")


@cache
def systems() -> dict[str, System]:
    raw = read("systems.toml")
    return {name: _system(name, values, raw) for name, values in raw["systems"].items()}


def _system(name: str, values: Mapping[str, Any], raw: Mapping[str, Any]) -> System:
    trained = raw["systems"][values["weights_of"]] if "weights_of" in values else values
    own = {key: value for key, value in values.items() if key in System.__dataclass_fields__}
    by_steps = {} if values.get("deterministic") else raw["trained"]
    settings = raw["shared"] | by_steps | trained.get("settings", {})
    return System(**{"title": name, **own, "name": name, "model": trained["model"], "settings": settings})


@cache
def datasets() -> dict[str, Dataset]:
    return {name: Dataset(name, **values) for name, values in read("datasets.toml").items()}


@cache
def experiments() -> dict[str, Experiment]:
    folder = files("fansrec.experiments.paper").joinpath("experiments")
    names = sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))
    ordered = sorted(names, key=lambda name: (not name.startswith("table"), name == "industry", name))
    return {name: _experiment(name, read(f"experiments/{name}.toml")) for name in ordered}


def _experiment(name: str, values: Mapping[str, Any]) -> Experiment:
    """Its systems are named in a list, in the rows of its table, or in pairs."""
    named = [*values.get("systems", ()), *values.get("rivals", ())]
    named += [system for row in values.get("rows", {}).values() for system in row]
    named += [system for pair in values.get("pairs", {}).items() for system in pair]
    own = {key: value for key, value in values.items() if key in ("title", "against", "latency")}
    more = {key: value for key, value in values.items() if key not in own}
    categories = tuple(values.get("categories", (USUAL_CATEGORIES,)))
    return Experiment(name, systems=tuple(named), categories=categories, more=more, **own)


def chosen_experiments(names: Iterable[str]) -> tuple[Experiment, ...]:
    known = experiments()
    for name in (wanted := list(names)):
        if name != "all" and name not in known:
            raise BadSetting(f"there is no experiment {name!r}; choose from {', '.join(known)}, all")
    return tuple(known.values()) if "all" in wanted else tuple(known[name] for name in dict.fromkeys(wanted))


def chosen_datasets(names: Iterable[str] | None) -> tuple[Dataset, ...]:
    known = datasets()
    usual = (name for name in known if name != "sample")
    wanted = list(dict.fromkeys(usual if names is None else names))
    if not wanted:
        raise BadSetting(f"no dataset is named; choose from {', '.join(known)}")
    for name in wanted:
        if name not in known:
            raise BadSetting(f"there is no dataset {name!r}; choose from {', '.join(known)}")
    return tuple(known[name] for name in wanted)


def chosen_seeds(seeds: Iterable[int] | None) -> tuple[int, ...]:
    wanted = SEEDS if seeds is None else tuple(dict.fromkeys(seeds))
    if not wanted or min(wanted) < 0:
        raise BadSetting(f"--seeds {','.join(map(str, wanted))}: seeds are whole numbers from 0 on, such as 0,1,2")
    return wanted


def hurried(experiment: Experiment) -> Experiment:
    """An experiment as `--quick` does it."""
    limits = read("quick.toml")
    few = tuple(n for n in experiment.categories if n in limits["categories"]) or (USUAL_CATEGORIES,)
    more = {name: {**value, **limits[name]} if name in limits and isinstance(value, dict) else value
            for name, value in experiment.more.items()}  # fmt: skip
    return replace(experiment, categories=few, more=more, latency=experiment.latency and limits["latency"])


def choose(
    what: Iterable[str], of: Iterable[str] | None = None, seeds: Iterable[int] | None = None, quick: bool = False
) -> Choice:
    wanted, sets = chosen_experiments(what), chosen_datasets(of)
    if not quick:
        return Choice(wanted, sets, chosen_seeds(seeds))
    if seeds is not None:
        raise BadSetting("--quick has a seed of its own; leave out --quick or --seeds")
    limits = read("quick.toml")
    some = sets if of else tuple(datasets()[name] for name in limits["datasets"])
    return Choice(tuple(map(hurried, wanted)), some, tuple(limits["seeds"]), limits["settings"], quick=True)
