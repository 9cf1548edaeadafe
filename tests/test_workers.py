"""Jobs in parallel: one that fails or dies costs no other."""

import operator
import os
import time

import pytest

from fansrec.errors import Interrupted, Unfinished
from fansrec.workers import DONE, FAILED, STOPPED, Job, _done, run_jobs


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


def test_after_the_time_limit_no_job_begins_and_running_ones_stop():
    jobs = [Job("long", time.sleep, (60,), cost=2), Job("never", time.sleep, (0,), cost=1)]
    began = time.monotonic()
    outcomes = run_jobs(jobs, 1, lambda _: None, time_limit=0.2)
    assert [(outcome.job.title, outcome.state) for outcome in outcomes] == [("long", STOPPED)]
    assert time.monotonic() - began < 30


def test_no_time_begins_nothing():
    assert run_jobs([Job("never", time.sleep, (60,))], 1, lambda _: None, time_limit=0) == []
