"""Training on a cluster: Ray Train starts and restarts the processes; the training loop is the usual one.

The driver writes the plan, and every worker resumes it as with `--resume`. A batch does not depend on the number of
workers that share it, so a run may continue with fewer workers than before.
"""

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray
import torch
from accelerate import PartialState
from accelerate.utils import gather
from ray.train import FailureConfig, RunConfig, ScalingConfig, TrainingFailedError
from ray.train.torch import TorchTrainer

from fansrec.artifact import MANIFEST
from fansrec.cluster.errors import to_fans_error
from fansrec.cluster.reporting import QueueReporter, forwarded_reports
from fansrec.data.corpus import SUMMARY, read_corpus
from fansrec.errors import BadSetting, FansError, Interrupted, Unfinished
from fansrec.models.registry import entry
from fansrec.training.begin import begin
from fansrec.training.plan import Plan
from fansrec.training.process import has_only_cpu
from fansrec.training.reporting import NULL_REPORTER, Reporter
from fansrec.training.trainer import Draw, train

MAX_FAILURES = 10  # restarts of all workers after one was lost


def train_on_cluster(
    corpus: Path,
    out: Path,
    model: str | None = None,
    values: Mapping[str, Any] | None = None,
    reporter: Reporter = NULL_REPORTER,
    resume: bool = False,
    draw: Draw | None = None,
    compare: bool = True,
    workers: int | None = None,
    force: bool = False,
    start: Path | None = None,
    track: Sequence[str] = (),
) -> Plan:
    """Do the same as `trainer.train` with `workers` processes (default: one per core or GPU) of the cluster."""
    corpus, out = corpus.resolve(), out.resolve()
    plan = begin(read_corpus(corpus), out, model, values or {}, resume, force=force, start=start)
    gpus = int(ray.cluster_resources().get("GPU", 0))
    closed_form = hasattr(entry(plan.model).model, "fit")
    count = 1 if closed_form else workers or gpus or int(ray.cluster_resources()["CPU"])
    with _storage_folder(out) as folder, forwarded_reports(reporter) as queue:
        trainer = TorchTrainer(
            _work,
            train_loop_config={
                **{"corpus": corpus, "out": out, "queue": queue, "draw": draw, "compare": compare, "track": track}
            },
            # A range, so that training continues with fewer workers when a machine is lost.
            scaling_config=ScalingConfig(num_workers=(1, count) if count > 1 else 1, use_gpu=gpus > 0),
            run_config=RunConfig(
                name="training", storage_path=str(folder), failure_config=FailureConfig(max_failures=MAX_FAILURES)
            ),
        )
        return _fit(trainer) or plan


def _fit(trainer: TorchTrainer) -> Plan | None:
    """Return the plan of the trained model, which a search may have changed."""
    try:
        result = _run_in_thread(trainer.fit).return_value
    except TrainingFailedError as error:
        failures = [*getattr(error, "worker_failures", {}).values()] or [error]
        raise to_fans_error(failures[0]) from error
    except KeyboardInterrupt:  # the workers end when we leave the cluster
        raise Interrupted("stopped; continue with the same command and --resume") from None
    if isinstance(result, FansError):
        raise result
    assert result is None or isinstance(result, Plan)
    return result


def _run_in_thread(function: Callable[[], Any]) -> Any:
    """Run a function in a thread: in the main thread Ray Train would replace the Ctrl-C handler permanently."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future.result()


def _work(config: dict[str, Any]) -> Plan | FansError | None:
    """Train in a worker; return a refusal instead of raising it, since a retry would not change it."""
    torch.set_num_threads(max(1, int(ray.get_runtime_context().get_assigned_resources().get("CPU", 1))))
    corpus, out, reporter = config["corpus"], config["out"], QueueReporter(config["queue"])
    if error := _missing_path(corpus / SUMMARY, out):
        return error
    if (out / MANIFEST).is_file():  # a worker was lost after the training had finished
        return None
    try:
        return train(corpus, out, None, {}, reporter, True, config["draw"], config["compare"], track=config["track"])
    except Unfinished:
        raise
    except FansError as error:
        return error


def _missing_path(*paths: Path) -> FansError | None:
    """Return an error if a worker does not see a path; all workers agree, so that none waits for another."""
    missing = next((number for number, path in enumerate(paths, 1) if not path.exists()), 0)
    own = torch.tensor(missing, device=PartialState(cpu=has_only_cpu()).device)
    any_missing = int(max(gather(own[None]).tolist()))
    if not any_missing:
        return None
    return BadSetting(f"{paths[any_missing - 1]} is not visible to all machines of the cluster; use a shared folder")


@contextmanager
def _storage_folder(out: Path) -> Iterator[Path]:
    """Yield a temporary folder for Ray Train's own files, which all workers must see."""
    try:
        folder = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.ray."))
    except OSError as error:
        raise BadSetting(f"{out.parent} cannot be written ({error.strerror}); choose another path") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
