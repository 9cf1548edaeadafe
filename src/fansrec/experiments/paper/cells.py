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

    def cells(self, dataset: str, categories: int, name: str, selection: Selection) -> list[Cell]:
        """Return the cells that train the weights of a system, one per seed; none if there is no such corpus."""
        found, system = self.fingerprint(dataset, categories), systems()[name]
        if found is None:
            return []
        trained = next(other.name for other in systems().values() if other.training == system.training)
        file_name = re.sub(r"[^A-Za-z0-9_.-]+", "-", trained.replace("*", "-star")).strip("-")
        settings = {**system.settings, **_applicable(selection.settings, system)}
        return [
            Cell(
                self.out,
                f"{dataset}-{categories}/{file_name}-{seed}",
                f"{dataset}, N = {categories}, {trained}, seed {seed}",
                self.folder(dataset, categories),
                found,
                system.model,
                {**settings, "seed": seed},
                _evaluations(system),
                {"dataset": dataset, "categories": categories, "system": trained, "seed": seed},
            )
            for seed in (selection.seeds[:1] if system.deterministic else selection.seeds)
        ]


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


def required_cells(selection: Selection, corpora: Corpora) -> list[Cell]:
    """Return every cell that the selected experiments need, each once, for the corpora that exist."""
    cells = {
        cell.file: cell
        for experiment in selection.experiments
        for dataset in selection.datasets
        for name, categories in experiment.pairs()
        for cell in corpora.cells(dataset.name, categories, name, selection)
    }
    return list(cells.values())
