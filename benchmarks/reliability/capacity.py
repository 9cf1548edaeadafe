"""Measure the maximum number of requests per second that a service answers."""

from collections.abc import Sequence

from benchmarks.reliability.load import Load
from benchmarks.reliability.load_process import run_load
from benchmarks.reliability.service import Service
from benchmarks.reliability.tally import Tally

CONNECTIONS = (8, 16, 32)  # fewer leave workers idle, more only wait


def peak(running: Service, requests: Sequence[bytes], seconds: float) -> Tally:
    """Return the best of several closed loops, in which every connection sends again as soon as it is answered."""
    run_load(Load(running.port, requests, min(1.0, seconds)))  # warm-up
    tallies = [run_load(Load(running.port, requests, seconds, connections=count)) for count in CONNECTIONS]
    return max(tallies, key=Tally.goodput)
