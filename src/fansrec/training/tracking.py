"""Experiment trackers: what a training run reports to TensorBoard, MLflow and Weights & Biases.

A tracker is any object with the methods of `Tracker`; `fansrec.train(…, track=…)` takes names and such objects.
"""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from fansrec.errors import BadSetting, missing_extras
from fansrec.files import read_json, write_json
from fansrec.printable import printable
from fansrec.training import checkpoint
from fansrec.training.reporting import Reporter

TENSORBOARD = "tensorboard"
PROJECT = "fansrec"  # the experiment or project, unless a variable of the tracker names another
IDS = "trackers.json"  # in the folder of checkpoints: the runs that a resumed training continues
log = logging.getLogger("fansrec")


class Tracker(Protocol):
    """Records a training run: its settings, the figures of every epoch, and the result."""

    def start(self, run: Path, settings: Mapping[str, Any], id: str | None) -> str | None:
        """Begin a run, or continue the one with this id; return its id, if it can be continued.

        `run` is the folder of the model.
        """
        ...

    def epoch(self, number: int, figures: Mapping[str, float]) -> None:
        """Record the figures of an epoch; epochs count from 1."""
        ...

    def end(self, figures: Mapping[str, float], finished: bool) -> None:
        """Record the figures of the trained model on the validation lists; `finished` is false after an error."""
        ...


class TensorBoard:
    """Event files in the folder of the model, for every training where TensorBoard is installed."""

    def __init__(self) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._new_writer = SummaryWriter

    def start(self, run: Path, settings: Mapping[str, Any], id: str | None) -> str | None:
        self._folder = run / TENSORBOARD
        self._writer: Any = self._new_writer(str(self._folder))
        return None

    def epoch(self, number: int, figures: Mapping[str, float]) -> None:
        for name, value in figures.items():
            self._writer.add_scalar(name, value, number)

    def end(self, figures: Mapping[str, float], finished: bool) -> None:
        """Close the files and rename them: TensorBoard puts the name of the machine into them."""
        self._writer.close()
        for number, path in enumerate(sorted(self._folder.glob("*tfevents*"))):
            path.rename(self._folder / f"events.out.tfevents.{number}")


class MLflow:
    """A run in MLflow, at the address of MLFLOW_TRACKING_URI and in the experiment MLFLOW_EXPERIMENT_NAME."""

    def __init__(self) -> None:
        import mlflow  # noqa: F401 - that it is missing is reported before anything is trained

    def start(self, run: Path, settings: Mapping[str, Any], id: str | None) -> str | None:
        from mlflow import MlflowClient
        from mlflow.entities import Param

        self._client: Any = MlflowClient()
        if id is not None:
            self._id = id
            self._client.update_run(id, status="RUNNING")
            return id
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or PROJECT
        found = self._client.get_experiment_by_name(name)
        experiment = self._client.create_experiment(name) if found is None else found.experiment_id
        self._id = str(self._client.create_run(experiment, run_name=run.name).info.run_id)
        self._client.log_batch(self._id, params=[Param(name, str(value)) for name, value in settings.items()])
        return self._id

    def epoch(self, number: int, figures: Mapping[str, float]) -> None:
        for name, value in figures.items():
            self._client.log_metric(self._id, name.replace("@", " at "), value, step=number)  # no @ in its names

    def end(self, figures: Mapping[str, float], finished: bool) -> None:
        for name, value in figures.items():
            self._client.log_metric(self._id, f"best {name.replace('@', ' at ')}", value)
        self._client.set_terminated(self._id, "FINISHED" if finished else "FAILED")


class WeightsAndBiases:
    """A run of Weights & Biases, in the project WANDB_PROJECT."""

    def __init__(self) -> None:
        import wandb

        self._init = wandb.init

    def start(self, run: Path, settings: Mapping[str, Any], id: str | None) -> str | None:
        project = os.environ.get("WANDB_PROJECT") or PROJECT
        self._run: Any = self._init(project=project, name=run.name, config=dict(settings), id=id, resume="allow")
        return str(self._run.id)

    def epoch(self, number: int, figures: Mapping[str, float]) -> None:
        self._run.log(dict(figures), step=number)

    def end(self, figures: Mapping[str, float], finished: bool) -> None:
        self._run.summary.update({f"best {name}": value for name, value in figures.items()})
        self._run.finish(exit_code=0 if finished else 1)


TRACKERS: dict[str, Callable[[], Tracker]] = {TENSORBOARD: TensorBoard, "mlflow": MLflow, "wandb": WeightsAndBiases}
Track = str | Tracker | Sequence[str | Tracker]


class Tracking(Reporter):
    """Passes everything on to a reporter, and settings, epochs and the result to trackers.

    A tracker that fails after its start is left out from then on: training goes on.
    """

    def __init__(self, reporter: Reporter, track: Track = ()) -> None:
        self._reporter, self._chosen, self._trackers = reporter, _chosen(track), list[Tracker]()
        self.start, self.batch, self.message = reporter.start, reporter.batch, reporter.message  # type: ignore[method-assign]

    def open(self, out: Path, settings: Mapping[str, Any]) -> None:
        """Start the trackers; those with an id continue the run of an interrupted training."""
        path = out / checkpoint.FOLDER / IDS
        ids = read_json(path) if path.is_file() else {}
        for name, tracker in self._chosen.items():
            try:
                ids[name] = tracker.start(out, settings, ids.get(name))
            except Exception as error:
                raise BadSetting(
                    f"--track {name} cannot be started ({error}); correct that, or leave it out"
                ) from error
            self._trackers.append(tracker)
        if any(ids.values()):
            write_json(path, {name: id for name, id in ids.items() if id is not None})

    def epoch(self, row: dict[str, Any]) -> None:
        self._reporter.epoch(row)
        self._each(lambda tracker: tracker.epoch(row["epoch"], _figures(row)))

    def close(self, figures: Mapping[str, Any], finished: bool) -> None:
        """End the trackers, with the figures of the trained model; a second call does nothing."""
        self._each(lambda tracker: tracker.end(_figures(figures), finished))
        self._trackers = []

    def _each(self, call: Callable[[Tracker], None]) -> None:
        for tracker in list(self._trackers):
            try:
                call(tracker)
            except Exception as error:
                self._trackers.remove(tracker)
                name = type(tracker).__name__
                log.warning("%s", printable(f"{name} failed ({error}); training continues without it"))


def _chosen(track: Track) -> dict[str, Tracker]:
    """Return the trackers by name: those that are given, and TensorBoard where it is installed."""
    found: dict[str, Tracker] = {}
    for one in [track] if isinstance(track, str) or not isinstance(track, Sequence) else track:
        if not isinstance(one, str):
            found[type(one).__name__] = one
            continue
        if one not in TRACKERS:
            raise BadSetting(f"--track is {one!r}; it can be {', '.join(TRACKERS)}")
        with missing_extras():
            found[one] = TRACKERS[one]()
    try:
        return {TENSORBOARD: TensorBoard()} | found
    except ImportError:  # it is not installed; metrics.csv has the same figures
        return found


def _figures(row: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a row without its epoch."""
    return {
        name: value
        for name, value in row.items()
        if name != "epoch" and isinstance(value, int | float) and value == value
    }
