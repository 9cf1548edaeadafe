"""Jobs in parallel processes of one thread each: a failed one costs no other, and all can be stopped softly."""

import multiprocessing
import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from fansrec.errors import FansError, Interrupted, Unfinished
from fansrec.files import format_os_error
from fansrec.training.interrupts import stop_signals

SPAWN = multiprocessing.get_context("spawn")
POLL_SECONDS = 0.5
GRACE_SECONDS = 60  # for a training to save itself
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
DONE, FAILED, STOPPED = "done", "failed", "stopped"


@dataclass(frozen=True)
class Job:
    """A function of some module, called in a worker; it leaves its result in a file and may say a word of it."""

    title: str
    function: Callable[..., str | None]
    arguments: tuple[Any, ...]
    cost: float = 1.0  # the longest go first


@dataclass(frozen=True)
class Outcome:
    job: Job
    state: str  # done, failed or stopped
    word: str  # what came of it, or what went wrong
    seconds: float


Tell = Callable[[Outcome], None]


def hide_gpu(device: str | None) -> None:
    """A training takes a GPU that it sees; the workers inherit what is set here."""
    if device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


class Worker:
    """A process that does one job after another."""

    def __init__(self) -> None:
        self.pipe, other = SPAWN.Pipe()
        self.process = SPAWN.Process(target=_work, args=(other,), daemon=True)
        with _environment(ONE_THREAD):
            self.process.start()
        other.close()
        self.job: Job | None = None
        self.began = 0.0

    def give(self, job: Job) -> None:
        self.job, self.began = job, time.monotonic()
        self.pipe.send(job)

    def outcome(self, asked_to_stop: bool) -> Outcome:
        """What became of the job; a worker that died took it along."""
        assert self.job is not None
        try:
            state, word = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            state, word = (STOPPED, "") if asked_to_stop else (FAILED, f"its process died ({self.process.exitcode})")
        if state == FAILED:  # it ends itself, as it may be in no state to go on
            self.process.join()
        job, self.job = self.job, None
        return Outcome(job, state, word, time.monotonic() - self.began)

    def stop(self) -> None:
        if self.process.is_alive():
            self.process.terminate()


def run_jobs(jobs: Sequence[Job], workers: int, tell: Tell, time_limit: float | None = None) -> list[Outcome]:
    """All of them, the costliest first; after `time_limit` seconds, or when asked to, those running are stopped."""
    waiting = sorted(jobs, key=lambda job: -job.cost)
    outcomes: list[Outcome] = []
    if not jobs or (time_limit is not None and time_limit <= 0):
        return outcomes
    end = time.monotonic() + (time_limit if time_limit is not None else float("inf"))
    pool = [Worker() for _ in range(min(workers, len(jobs)))]
    try:
        with stop_signals() as asked:
            while (not asked() and time.monotonic() < end) and (waiting or any(worker.job for worker in pool)):
                _hand_out(pool, waiting)
                for outcome in _arrived(pool, asked_to_stop=False):
                    outcomes.append(outcome)
                    tell(outcome)
            for outcome in _stopped(pool):
                outcomes.append(outcome)
                tell(outcome)
            if asked():
                raise Interrupted("stopped; what is finished is kept, go on with the same command")
    finally:
        for worker in pool:
            worker.process.kill()
            worker.process.join()
    return outcomes


def _hand_out(pool: list[Worker], waiting: list[Job]) -> None:
    for place, worker in enumerate(pool):
        if worker.job is None and waiting:
            if not worker.process.is_alive():
                worker = pool[place] = Worker()
            worker.give(waiting.pop(0))


def _arrived(pool: Sequence[Worker], asked_to_stop: bool) -> Iterator[Outcome]:
    busy = {worker.pipe: worker for worker in pool if worker.job is not None}
    for pipe in wait(list(busy), POLL_SECONDS):
        assert isinstance(pipe, Connection)
        yield busy[pipe].outcome(asked_to_stop)


def _stopped(pool: Sequence[Worker]) -> Iterator[Outcome]:
    """Ask every busy worker to stop and hear what became of its job."""
    for worker in pool:
        if worker.job is not None:
            worker.stop()
    end = time.monotonic() + GRACE_SECONDS
    while any(worker.job for worker in pool) and time.monotonic() < end:
        yield from _arrived(pool, asked_to_stop=True)


def _work(pipe: Connection) -> None:
    """The life of a worker. Its own process group, as Ctrl-C is for the starter, who then asks softly."""
    os.setpgrp()
    import torch

    torch.set_num_threads(1)
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        state, word = _done(job)
        pipe.send((state, word))
        if state == FAILED:  # a GPU that failed once fails all that comes after; a fresh process takes over
            return


def _done(job: Job) -> tuple[str, str]:
    try:
        word = job.function(*job.arguments)
    except Interrupted:
        return STOPPED, "the same command goes on with it"
    except Unfinished as broken:  # a training's words are for `fans train`, which goes on with --resume
        return STOPPED, str(broken).replace("--resume", "the same command")
    except FansError as refused:
        return FAILED, str(refused)
    except OSError as error:
        return FAILED, format_os_error(error)
    except KeyboardInterrupt:
        return STOPPED, ""
    except Exception:  # one bad cell must not end the others
        return FAILED, traceback.format_exc()
    return DONE, word or ""


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Variables for a child, which reads them before it imports torch."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
