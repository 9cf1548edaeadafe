"""A pool of single-threaded worker processes: a failed job does not affect others, and all can be stopped cleanly."""

import multiprocessing
import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from fansrec.errors import FansError, Interrupted, Unfinished
from fansrec.files import format_os_error
from fansrec.training.interrupts import stop_signals

SPAWN = multiprocessing.get_context("spawn")
POLL_SECONDS = 0.5
GRACE_SECONDS = 60  # for a training run to save its state
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
DONE, FAILED, STOPPED = "done", "failed", "stopped"


@dataclass(frozen=True)
class Job:
    """A module-level function to call in a worker; it writes its result to a file and may return a short summary."""

    title: str
    function: Callable[..., str | None]
    arguments: tuple[Any, ...]
    cost: float = 1.0  # the most expensive jobs start first


@dataclass(frozen=True)
class Outcome:
    """How a job ended."""

    job: Job
    state: str  # done, failed or stopped
    message: str  # the job's summary, or what went wrong
    seconds: float

    def __str__(self) -> str:
        """Return `title: 12 s message`, with the state if the job did not finish."""
        state = "" if self.state == DONE else f" {self.state}:"
        return f"{self.job.title}: {self.seconds:.0f} s{state} {self.message}".rstrip()


class Progress(Protocol):
    """Receives the events of `run_jobs`."""

    def begin(self, title: str, jobs: int) -> None:
        """Start a group of `jobs` jobs."""

    def ended(self, outcome: Outcome) -> None:
        """Report one finished, failed or stopped job of the group."""

    def say(self, text: str) -> None:
        """Print `text` on a line of its own."""


def run_jobs(
    title: str, jobs: Sequence[Job], workers: int, progress: Progress, time_limit: float | None = None
) -> list[Job]:
    """Run `jobs`, the most expensive first, and return those that did not finish.

    After `time_limit` seconds, or on a stop signal, running jobs are stopped and no job starts.
    """
    progress.begin(title, len(jobs))
    finished = set()
    for outcome in outcomes(jobs, workers, time_limit):
        progress.ended(outcome)
        if outcome.state == DONE:
            finished.add(outcome.job.title)
    return [job for job in jobs if job.title not in finished]


def outcomes(jobs: Sequence[Job], workers: int, time_limit: float | None = None) -> Iterator[Outcome]:
    """Yield the outcome of each job as it ends; raise Interrupted after a stop signal."""
    if not jobs or (time_limit is not None and time_limit <= 0):
        return
    waiting = sorted(jobs, key=lambda job: -job.cost)
    end = time.monotonic() + (time_limit if time_limit is not None else float("inf"))
    pool = [Worker() for _ in range(min(workers, len(jobs)))]
    try:
        with stop_signals() as stop_requested:
            while (not stop_requested() and time.monotonic() < end) and (waiting or any(worker.job for worker in pool)):
                _assign(pool, waiting)
                yield from _receive(pool, stopping=False)
            yield from _stop(pool)
            if stop_requested():
                raise Interrupted("stopped; finished jobs are kept, and the same command resumes the others")
    finally:
        for worker in pool:
            worker.process.kill()
            worker.process.join()


class Worker:
    """A process that runs one job after another."""

    def __init__(self) -> None:
        self.pipe, other = SPAWN.Pipe()
        self.process = SPAWN.Process(target=_worker_main, args=(other,), daemon=True)
        with _one_thread():
            self.process.start()
        other.close()
        self.job: Job | None = None
        self.started = 0.0

    def start(self, job: Job) -> None:
        self.job, self.started = job, time.monotonic()
        self.pipe.send(job)

    def receive(self, stopping: bool) -> Outcome:
        """Return the outcome of the current job; if the process died, the job failed, or stopped if it had to."""
        assert self.job is not None
        try:
            state, message = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            state, message = (STOPPED, "") if stopping else (FAILED, f"its process died ({self.process.exitcode})")
        if state == FAILED:  # such a worker exits
            self.process.join()
        job, self.job = self.job, None
        return Outcome(job, state, message, time.monotonic() - self.started)


def _assign(pool: list[Worker], waiting: list[Job]) -> None:
    for index, worker in enumerate(pool):
        if worker.job is None and waiting:
            if not worker.process.is_alive():
                worker = pool[index] = Worker()
            worker.start(waiting.pop(0))


def _receive(pool: Sequence[Worker], stopping: bool) -> Iterator[Outcome]:
    busy = {worker.pipe: worker for worker in pool if worker.job is not None}
    for pipe in wait(list(busy), POLL_SECONDS):
        assert isinstance(pipe, Connection)
        yield busy[pipe].receive(stopping)


def _stop(pool: Sequence[Worker]) -> Iterator[Outcome]:
    """Ask every busy worker to stop and yield the outcomes that arrive within the grace period."""
    for worker in pool:
        if worker.job is not None and worker.process.is_alive():
            worker.process.terminate()
    end = time.monotonic() + GRACE_SECONDS
    while any(worker.job for worker in pool) and time.monotonic() < end:
        yield from _receive(pool, stopping=True)


def _worker_main(pipe: Connection) -> None:
    os.setpgrp()  # Ctrl-C reaches the parent only, which then terminates its workers one by one
    import torch

    torch.set_num_threads(1)
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        state, message = call(job)
        pipe.send((state, message))
        if state == FAILED:  # after an error a GPU context may be unusable, so a fresh process takes over
            return


def call(job: Job) -> tuple[str, str]:
    """Run `job` in this process and return its state and message."""
    try:
        message = job.function(*job.arguments)
    except Interrupted:
        return STOPPED, "the same command resumes it"
    except Unfinished as error:  # the message is written for `fans train`, where --resume resumes
        return STOPPED, error.on_command_line.replace("--resume", "the same command")
    except FansError as error:
        return FAILED, error.on_command_line
    except OSError as error:
        return FAILED, format_os_error(error)
    except KeyboardInterrupt:
        return STOPPED, ""
    except Exception:  # a bug in one job must not end the others
        return FAILED, traceback.format_exc()
    return DONE, message or ""


@contextmanager
def _one_thread() -> Iterator[None]:
    """Set the environment of a child process, which reads it when it imports torch."""
    before = {name: os.environ[name] for name in ONE_THREAD if name in os.environ}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name in ONE_THREAD:
            del os.environ[name]
        os.environ.update(before)
