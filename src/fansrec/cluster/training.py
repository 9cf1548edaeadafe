"""Training on a cluster: Ray Train starts the processes and starts them anew when one dies; the loop is the usual one.

The driver writes the plan down, every worker goes on with it as with `--resume`. A batch is the same however many
workers share it, so a training may even go on with fewer of them than before.
"""

import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray
import torch
from accelerate import PartialState
from accelerate.utils import gather
from ray.exceptions import RayError
from ray.train import FailureConfig, RunConfig, ScalingConfig, TrainingFailedError
from ray.train.torch import TorchTrainer
from ray.util.queue import Queue

from fansrec.artifact import MANIFEST
from fansrec.cluster.reporting import LAST, QueueReporter, pass_on
from fansrec.cluster.troubles import refusal
from fansrec.data.corpus import SUMMARY
from fansrec.errors import BadSetting, FansError, Interrupted, Unfinished
from fansrec.models.registry import entry
from fansrec.training import start
from fansrec.training.loop import no_accelerator
from fansrec.training.plan import Plan
from fansrec.training.reporting import Reporter
from fansrec.training.trainer import SILENCE, Draw, train

RESTARTS = 10  # of all workers, after one was lost


def train_on_cluster(
    corpus: Path,
    out: Path,
    model: str | None = None,
    values: Mapping[str, Any] | None = None,
    reporter: Reporter = SILENCE,
    resume: bool = False,
    draw: Draw | None = None,
    compare: bool = True,
    workers: int | None = None,
) -> Plan:
    """As `training.start.train`, by `workers` processes (one a core or GPU, unless told otherwise) of the cluster."""
    corpus, out = corpus.resolve(), out.resolve()
    plan = start.begin(corpus, out, model, values, resume)
    gpus = int(ray.cluster_resources().get("GPU", 0))
    wanted = 1 if _in_closed_form(plan) else workers or gpus or int(ray.cluster_resources()["CPU"])
    with _folder_for_ray(out) as folder, _heard(reporter) as queue:
        fitting = TorchTrainer(
            _work,
            train_loop_config={"corpus": corpus, "out": out, "queue": queue, "draw": draw, "compare": compare},
            # With fewer than wanted rather than not at all, when a machine is lost.
            scaling_config=ScalingConfig(num_workers=(1, wanted) if wanted > 1 else 1, use_gpu=gpus > 0),
            run_config=RunConfig(
                name="training", storage_path=str(folder), failure_config=FailureConfig(max_failures=RESTARTS)
            ),
        )
        return _fitted(fitting) or plan


def _fitted(fitting: TorchTrainer) -> Plan | None:
    """The plan of what has been trained, which a search may have changed."""
    try:
        ended = _in_a_thread(fitting.fit).return_value
    except TrainingFailedError as error:
        failures = [*getattr(error, "worker_failures", {}).values()] or [error]
        raise refusal(failures[0]) from error
    except KeyboardInterrupt:  # the workers end when we leave the cluster
        raise Interrupted("stopped; go on with the same command and --resume") from None
    if isinstance(ended, FansError):
        raise ended
    assert ended is None or isinstance(ended, Plan)
    return ended


def _in_a_thread(work: Callable[[], Any]) -> Any:
    """In the main thread Ray Train would take Ctrl-C for itself, and for all that comes after it."""
    ended: Future[Any] = Future()

    def run() -> None:
        try:
            ended.set_result(work())
        except BaseException as error:
            ended.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return ended.result()


def _work(terms: dict[str, Any]) -> Plan | FansError | None:
    """What every worker does; a refusal is handed back, since trying again would not change it."""
    torch.set_num_threads(max(1, int(ray.get_runtime_context().get_assigned_resources().get("CPU", 1))))
    corpus, out, reporter = terms["corpus"], terms["out"], QueueReporter(terms["queue"])
    if refused := _out_of_sight(corpus / SUMMARY, out):
        return refused
    if (out / MANIFEST).is_file():  # a worker was lost when all was done
        return None
    try:
        return train(corpus, out, None, {}, reporter, True, terms["draw"], compare=terms["compare"])
    except Unfinished:
        raise
    except FansError as refused:
        return refused


def _out_of_sight(*paths: Path) -> FansError | None:
    """Asked by all workers together: one alone that gave up would leave the others waiting for it."""
    missing = next((number for number, path in enumerate(paths, 1) if not path.exists()), 0)
    asked = torch.tensor(missing, device=PartialState(cpu=no_accelerator()).device)
    worst = int(max(gather(asked[None]).tolist()))
    if not worst:
        return None
    return BadSetting(f"{paths[worst - 1]} is not there for all machines of the cluster; put it where they all see it")


def _in_closed_form(plan: Plan) -> bool:
    return hasattr(entry(plan.model).model, "fit")


@contextmanager
def _folder_for_ray(out: Path) -> Iterator[Path]:
    """Ray Train wants a place that all workers see, and leaves its own notes there; they are of no use afterwards."""
    try:
        folder = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.ray."))
    except OSError as error:
        raise BadSetting(f"{out.parent} cannot be written ({error.strerror}); choose another place") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _heard(reporter: Reporter) -> Iterator[Queue]:
    """A queue whose words reach the reporter until the block ends."""
    queue = Queue(actor_options={"num_cpus": 0, "max_restarts": -1, "max_task_retries": -1})
    dropped = threading.Event()
    listening = threading.Thread(target=pass_on, args=(queue, reporter, dropped.is_set), daemon=True)
    listening.start()
    try:
        yield queue
    except BaseException:
        dropped.set()
        raise
    else:
        try:
            queue.put((LAST,))
        except RayError:  # words lost with their machine are no reason to lose the training
            dropped.set()
    finally:
        listening.join()
        queue.shutdown(force=True)
