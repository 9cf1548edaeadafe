"""How many requests a second a service answers at most."""

from collections.abc import Sequence

from benchmarks.reliability.apart import run_apart
from benchmarks.reliability.load import Load
from benchmarks.reliability.service import Service
from benchmarks.reliability.tally import Tally

CONNECTIONS = (8, 16, 32)  # the most comes with some; fewer leave workers idle, more only wait


def peak(running: Service, requests: Sequence[bytes], seconds: float) -> Tally:
    """The best of several loops in which every connection asks again as soon as it is answered."""
    run_apart(Load(running.port, requests, min(1.0, seconds)))  # warms up
    tallies = [run_apart(Load(running.port, requests, seconds, connections=many)) for many in CONNECTIONS]
    return max(tallies, key=Tally.goodput)
