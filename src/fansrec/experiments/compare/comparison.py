"""The comparison of several models on the test lists of a corpus, and the recommendation of one of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fansrec.data.corpus import fingerprint, read_corpus
from fansrec.errors import BadSetting, missing_extras
from fansrec.evaluation.paired import Ranking, rank
from fansrec.evaluation.protocol import METRICS
from fansrec.evaluation.recommendation import costs, reasons, recommend
from fansrec.experiments.compare.measuring import PROTOCOL, Job, Measured, measure
from fansrec.experiments.crossval.systems import check_systems, parse_systems
from fansrec.experiments.defaults import COMPARE_TIME, COMPARED
from fansrec.experiments.durations import parse_duration
from fansrec.experiments.result_folder import start_folder
from fansrec.files import write_json
from fansrec.training.devices import training_device, usable_device
from fansrec.training.reporting import Reporter, default_reporter, format_duration

METRIC = METRICS[0]  # that decides
ABOUT = "corpus.json"  # what the folder was made with
REPORT = "comparison"  # name of the report's files
OWN = rf"rows|runs|{REPORT}\.(json|md|png)"  # what a comparison writes


@dataclass(frozen=True)
class Comparison:
    """Trained models, best first, with their figures on the same test lists, and the one that is recommended.

    Attributes:
        corpus: Folder of the corpus.
        folder: Folder of the models and the report.
        lists: Number of test lists.
        search_seconds: Longest limit of all searches; models of an earlier comparison had their own.
        models: Name, folder, figures and training time of each model, best first.
        ranking: The differences between the models, list by list.
        recommended: The cheapest model that is not significantly worse than the best.
        reasons: Why it is recommended, as sentences.
    """

    corpus: Path
    folder: Path
    lists: int
    search_seconds: float
    models: list[Measured]
    ranking: Ranking
    recommended: Measured
    reasons: list[str]

    @property
    def run(self) -> Path:
        """The folder of the recommended model: `fansrec.load(comparison.run)`."""
        return self.recommended.run

    def to_json(self) -> dict[str, Any]:
        """Return the content of comparison.json."""
        return {
            "corpus": str(self.corpus),
            "protocol": PROTOCOL.name,
            "lists": self.lists,
            "metric": METRIC,
            "search_seconds": self.search_seconds,
            "models": [self._row(one) for one in self.models],
            "best": self.ranking.best,
            "as_good_as_the_best": self.ranking.as_good,
            "recommended": self.recommended.name,
            "reasons": self.reasons,
            "run": str(self.run),
        }

    def _row(self, one: Measured) -> dict[str, Any]:
        behind = self.ranking.behind.get(one.name)
        about = {"name": one.name, "model": one.model, "variant": one.title, "run": str(one.run)}
        figures = {name: one.row[name] for metric in METRICS for name in (metric, f"{metric}_ci")}
        costs = {"latency_ms": one.row["latency_ms"], "training_seconds": one.training_seconds}
        search = {"settings": one.settings, "tried": one.tried, "search_seconds": one.search_seconds}
        return {**about, **figures, "behind": None if behind is None else behind.to_json(), **costs, **search}


@missing_extras()
def compare(
    corpus: str | Path,
    out: str | Path | None = None,
    models: str | Sequence[str] = COMPARED,
    seconds: float | str = COMPARE_TIME,
    seed: int = 0,
    device: str | None = None,
    reporter: Reporter | None = None,
    force: bool = False,
) -> Comparison:
    """Train `models` on a corpus, compare them on its test lists and recommend the cheapest of the best.

    The same call resumes an interrupted one and trains only models that are not there yet or whose search ended early
    and now has more time.

    Args:
        corpus: The corpus folder.
        out: Folder of the models, the figures and the report (comparison.json, .md and .png); by default
            CORPUS-compare beside the corpus.
        models: Models written as `NAME[:RECIPE][+SETTING=VALUE...]`, in a list or separated by commas.
        seconds: Longest search of the settings of each model in closed form on the validation lists: a number, or a
            text such as 10m.
        seed: Random seed of training.
        device: Where models are trained and measured: cpu, cuda or cuda:1; by default a GPU if there is one.
        reporter: Shows the progress; by default in a terminal and in a notebook.
        force: Train all models again.

    Returns:
        The models, best first, and the recommended one.

    Examples:
        >>> import fansrec
        >>> comparison = fansrec.compare("corpora/mine", models="popularity,item-knn", seconds=1)
        >>> comparison.lists, len(comparison.models)
        (6, 2)
        >>> model = fansrec.load(comparison.run)
    """
    from fansrec.experiments.compare.report import write_report  # matplotlib

    seconds, corpus = parse_duration("seconds", seconds), Path(corpus)
    lists, systems = read_corpus(corpus), parse_systems(models if isinstance(models, str) else ",".join(models))
    reporter = default_reporter() if reporter is None else reporter
    folder = corpus.parent / f"{corpus.resolve().name}-compare" if out is None else Path(out)
    if not len(lists.part("test")):
        raise BadSetting(f"{corpus} has no test lists to compare models on; prepare it again with all three parts")
    check_systems(systems, lists)
    chosen = usable_device(device)
    start_folder(folder, "comparison", ABOUT, {"fingerprint": fingerprint(lists)}, OWN, force)
    measured = []
    for number, system in enumerate(systems, 1):
        job = Job(corpus, folder, system, seed, seconds, chosen)
        reporter.message(f"{number} of {len(systems)}: {job.name}")
        with training_device(device):
            measured.append(measure(job, lists, _Brief(reporter)))
        reporter.message(_measured_message(measured[-1]))
    found = conclude(corpus, folder, seconds, measured)
    write_json(folder / f"{REPORT}.json", found.to_json())
    write_report(found, folder / f"{REPORT}.md", folder / f"{REPORT}.png")
    return found


def conclude(corpus: Path, folder: Path, seconds: float, measured: Sequence[Measured]) -> Comparison:
    """Return the comparison of models that are trained and measured."""
    by_name = {one.name: one for one in measured}
    ranking, lists = rank({name: one.values[METRIC] for name, one in by_name.items()}), int(measured[0].row["lists"])
    took = {name: one.training_seconds or 0.0 for name, one in by_name.items()}
    chosen = recommend(ranking, costs({name: one.model for name, one in by_name.items()}, took), lists)
    longest = max(seconds, *(one.search_seconds or 0.0 for one in measured))
    why = list(reasons(ranking, chosen, METRIC, lists, titles(measured)))
    return Comparison(
        corpus, folder, lists, longest, [by_name[name] for name in ranking.order], ranking, by_name[chosen], why
    )


def titles(measured: Sequence[Measured]) -> dict[str, str]:
    """Return the name of each model for people: its title, or its name in --models if several have the same title."""
    every = [one.title for one in measured]
    return {one.name: one.title if every.count(one.title) == 1 else one.name for one in measured}


class _Brief(Reporter):
    """Passes on epochs and batches, but not a line for every candidate of a grid search."""

    def __init__(self, reporter: Reporter) -> None:
        self.start, self.batch, self.epoch = reporter.start, reporter.batch, reporter.epoch  # type: ignore[method-assign]


def _measured_message(one: Measured) -> str:
    row = one.row
    took = "" if one.training_seconds is None else f", trained in {format_duration(one.training_seconds)}"
    return f"  {one.title}: {METRIC} {row[METRIC]:.4f}, {row['latency_ms']:.2f} ms per list{took}"
