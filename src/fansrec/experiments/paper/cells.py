"""The cells that the paper's experiments need: every system on every corpus with every seed, each trained once."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fansrec.data.corpus import fingerprint, read_corpus
from fansrec.evaluation.protocol import protocol
from fansrec.experiments.cells import Cell, Evaluation
from fansrec.experiments.paper.catalogue import Selection, System, systems
from fansrec.training.settings import known_names

# The paper's protocol, the same without input items, and the standard one.
PROTOCOLS = {
    "paper": protocol("paper"),
    "paper, input excluded": protocol("paper", input="excluded"),
    "standard": protocol("standard"),
}


class Corpora:
    """The prepared corpora of a reproduction in `out`; the fingerprint of each is computed once."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.fingerprints: dict[tuple[str, int], str] = {}

    def folder(self, dataset: str, categories: int) -> Path:
        return self.out / "corpora" / f"{dataset}-{categories}"

    def exists(self, dataset: str, categories: int) -> bool:
        return (self.folder(dataset, categories) / "summary.json").is_file()

    def fingerprint(self, dataset: str, categories: int) -> str | None:
        """Return the fingerprint of a corpus, or None if it does not exist."""
        if (dataset, categories) not in self.fingerprints and self.exists(dataset, categories):
            corpus = read_corpus(self.folder(dataset, categories))
            self.fingerprints[dataset, categories] = fingerprint(corpus)
        return self.fingerprints.get((dataset, categories))

    def cell(self, dataset: str, categories: int, system: System, seed: int, selection: Selection) -> Cell | None:
        """Return the cell that trains the weights of `system`, or None if there is no such corpus."""
        found = self.fingerprint(dataset, categories)
        if found is None:
            return None
        trained = next(other for other in systems().values() if other.training == system.training)
        return Cell(
            self.out,
            f"{dataset}-{categories}/{file_name(trained.name)}-{seed}",
            f"{dataset}, N = {categories}, {trained.name}, seed {seed}",
            self.folder(dataset, categories),
            found,
            system.model,
            {**system.settings, **_applicable(selection.settings, system), "seed": seed},
            _evaluations(system),
            {"dataset": dataset, "categories": categories, "system": trained.name, "seed": seed},
        )


def file_name(name: str) -> str:
    """Return a system's name without characters that file systems do not allow."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name.replace("*", "-star")).strip("-")


def _applicable(settings: Mapping[str, Any], system: System) -> Mapping[str, Any]:
    """Return the settings that the system's model has; those of `--quick` do not apply to deterministic models."""
    known = {} if system.deterministic else known_names(system.model)
    return {name: value for name, value in settings.items() if name in known}


def _evaluations(system: System) -> dict[str, Evaluation]:
    """Return the evaluations of the weights of `system`: for all systems that share them, under every protocol."""
    sharing = [other for other in systems().values() if other.training == system.training]
    return {
        evaluation_name(generation, name): Evaluation(how, generation, backend="torch", timed=False)
        for generation in dict.fromkeys(other.generation for other in sharing)
        for name, how in PROTOCOLS.items()
    }


def evaluation_name(generation: str | None, protocol_name: str) -> str:
    return f"{generation or 'default'} generation, {protocol_name}"


def seeds_of(system: System, selection: Selection) -> tuple[int, ...]:
    return selection.seeds[:1] if system.deterministic else selection.seeds


def required_cells(selection: Selection, corpora: Corpora) -> list[Cell]:
    """Return every cell that the selected experiments need, each once, for the corpora that exist."""
    found: dict[Path, Cell] = {}
    for experiment in selection.experiments:
        for dataset in selection.datasets:
            for name, categories in experiment.pairs():
                system = systems()[name]
                for seed in seeds_of(system, selection):
                    cell = corpora.cell(dataset.name, categories, system, seed, selection)
                    if cell is not None:
                        found[cell.file] = cell
    return list(found.values())
