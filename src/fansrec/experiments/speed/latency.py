"""Latency: all systems answer the same generated lists, whose second half is to be generated."""

from fansrec.experiments.speed.arms import Say, Systems
from fansrec.experiments.speed.measuring import Progress, in_calls, measure
from fansrec.experiments.speed.options import LatencyOptions
from fansrec.experiments.speed.rows import Row, rows_of
from fansrec.experiments.speed.workloads import mixed, questions_of


def latency(
    options: LatencyOptions, say: Say = lambda line: None, progress: Progress = lambda done, total: None
) -> list[Row]:
    """Return a row for every system."""
    systems = Systems(options.workload, options.size, options.device, options.seed, without_repeats(say))
    questions = mixed(questions_of(options.workload, options.size, max(options.lists, options.batch), options.seed))
    calls = in_calls(questions, options.batch)
    arms = systems.build(options.arms, options.categories)
    measure(arms, calls, options.seconds, options.repeats, progress)
    return [{"workload": options.workload} | row for row in rows_of(arms, calls, options.size)]


def without_repeats(say: Say) -> Say:
    """Return a function that says each line once."""
    said: set[str] = set()

    def say_once(line: str) -> None:
        if line not in said:
            said.add(line)
            say(line)

    return say_once
