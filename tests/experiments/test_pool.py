"""The process pool: a job that fails or dies does not affect the others."""

import operator
import os
import time
from types import SimpleNamespace

import pytest

from fansrec.errors import Interrupted, Unfinished
from fansrec.experiments import pool
from fansrec.experiments.pool import DONE, FAILED, STOPPED, Job, call, outcomes, run_jobs


class Recorder:
    """Records the events of a group of jobs."""

    def __init__(self):
        self.events = []

    def begin(self, title, jobs):
        self.events.append((title, jobs))

    def ended(self, outcome):
        self.events.append((outcome.job.title, outcome.state))

    def say(self, text):
        self.events.append(text)


def test_failed_and_dead_jobs_are_reported_and_the_others_finish():
    jobs = [
        Job("dies", os._exit, (3,), cost=4),
        Job("fails", operator.truediv, (1, 0), cost=3),
        Job("sleeps", time.sleep, (0.01,), cost=2),
        Job("sleeps again", time.sleep, (0.01,), cost=1),
    ]
    found = list(outcomes(jobs, 1))
    assert [(outcome.job.title, outcome.state) for outcome in found] == [
        ("dies", FAILED),
        ("fails", FAILED),
        ("sleeps", DONE),
        ("sleeps again", DONE),
    ]
    assert "died (3)" in found[0].message and "ZeroDivisionError" in found[1].message


def test_progress_is_reported_and_unfinished_jobs_are_returned(monkeypatch):
    jobs = [Job("fails", operator.truediv, (1, 0)), Job("sleeps", time.sleep, (0,))]
    monkeypatch.setattr(pool, "outcomes", lambda jobs, *_: (pool.Outcome(job, *call(job), 0.0) for job in jobs))
    progress = Recorder()
    assert run_jobs("cells", jobs, 1, progress) == [jobs[0]]
    assert progress.events == [("cells", 2), ("fails", FAILED), ("sleeps", DONE)]


def test_os_error_is_reported_in_one_line():
    assert call(Job("reads", os.listdir, ("/nowhere",))) == (FAILED, "/nowhere: No such file or directory")


@pytest.mark.parametrize(
    "error", [Interrupted("continue with --resume"), Unfinished("disk full; continue with --resume")]
)
def test_stopped_job_says_that_the_same_command_resumes_it(error):
    def stop():
        raise error

    state, message = call(Job("stops", stop, ()))
    assert state == STOPPED
    assert "the same command" in message and "--resume" not in message


def test_time_limit_stops_running_jobs_and_starts_no_other(monkeypatch):
    assign, now = pool._assign, 0.0

    def assign_and_wait(workers, waiting):
        nonlocal now
        assign(workers, waiting)
        now += 2.0  # the limit passes while the first job runs

    monkeypatch.setattr(pool, "_assign", assign_and_wait)
    monkeypatch.setattr(pool, "time", SimpleNamespace(monotonic=lambda: now))
    jobs = [Job("long", time.sleep, (600,), cost=2), Job("never", time.sleep, (0,), cost=1)]
    found = [(outcome.job.title, outcome.state) for outcome in outcomes(jobs, 1, time_limit=1.0)]
    assert found == [("long", STOPPED)]


def test_time_limit_of_zero_starts_no_job():
    assert list(outcomes([Job("never", time.sleep, (60,))], 1, time_limit=0)) == []
