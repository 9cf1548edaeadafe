"""Jobs in parallel: one that fails or dies costs no other."""

import operator
import os
import time
from types import SimpleNamespace

import pytest

from fansrec.errors import Interrupted, Unfinished
from fansrec.experiments import pool as workers
from fansrec.experiments.pool import DONE, FAILED, STOPPED, Job, _done, run_jobs


def test_failed_and_dead_jobs_are_told_and_the_others_done():
    jobs = [
        Job("dies", os._exit, (3,), cost=4),
        Job("fails", operator.truediv, (1, 0), cost=3),
        Job("sleeps", time.sleep, (0.01,), cost=2),
        Job("sleeps again", time.sleep, (0.01,), cost=1),
    ]
    told = []
    outcomes = run_jobs(jobs, 1, told.append)
    assert [(outcome.job.title, outcome.state) for outcome in outcomes] == [
        ("dies", FAILED),
        ("fails", FAILED),
        ("sleeps", DONE),
        ("sleeps again", DONE),
    ]
    assert told == outcomes
    assert "died (3)" in outcomes[0].word and "ZeroDivisionError" in outcomes[1].word


def test_a_file_that_cannot_be_read_is_told_in_one_line():
    assert _done(Job("reads", os.listdir, ("/nowhere",))) == (FAILED, "/nowhere: No such file or directory")


@pytest.mark.parametrize("error", [Interrupted("go on with --resume"), Unfinished("disk full; go on with --resume")])
def test_what_stopped_goes_on_with_the_same_command(error):
    def stop():
        raise error

    state, word = _done(Job("stops", stop, ()))
    assert state == STOPPED
    assert "the same command" in word and "--resume" not in word


def test_after_the_time_limit_no_job_begins_and_running_ones_stop(monkeypatch):
    hand_out, now = workers._hand_out, 0.0

    def handed_out(pool, waiting):
        nonlocal now
        hand_out(pool, waiting)
        now += 2.0  # the limit passes while the first job runs

    monkeypatch.setattr(workers, "_hand_out", handed_out)
    monkeypatch.setattr(workers, "time", SimpleNamespace(monotonic=lambda: now))
    jobs = [Job("long", time.sleep, (600,), cost=2), Job("never", time.sleep, (0,), cost=1)]
    outcomes = run_jobs(jobs, 1, lambda _: None, time_limit=1.0)
    assert [(outcome.job.title, outcome.state) for outcome in outcomes] == [("long", STOPPED)]


def test_no_time_begins_nothing():
    assert run_jobs([Job("never", time.sleep, (60,))], 1, lambda _: None, time_limit=0) == []
