"""Run a load in its own process, so that a script that disturbs the service does not disturb the measurement."""

import asyncio
import contextlib
import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection as Pipe

import uvloop
from benchmarks.reliability.load import Check, Generator, Load
from benchmarks.reliability.tally import Tally

STARTED = 60.0  # seconds for the process to start


class Running:
    """A running load; `end` stops it, `wait` lets it finish. Both return its tally."""

    def __init__(self, pipe: Pipe, load: Load) -> None:
        self._pipe, self._load = pipe, load
        self._tally: Tally | None = None
        if not pipe.poll(STARTED):
            raise RuntimeError("the load generator did not start")
        self.began = pipe.recv()  # in time.monotonic()

    def end(self) -> Tally:
        if self._tally is None:
            self._pipe.send("stop")
        return self.wait()

    def wait(self) -> Tally:
        if self._tally is None:
            self._tally = self._pipe.recv()
        assert isinstance(self._tally, Tally)
        return self._tally

    def lasts(self) -> bool:
        return not self._pipe.poll()


@contextmanager
def start_load(load: Load, check: Check | None = None) -> Iterator[Running]:
    """Run the load for the duration of the block."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_run, args=(there, load, check), daemon=True)
    process.start()
    there.close()
    try:
        yield Running(here, load)
    finally:
        here.close()
        process.join(load.timeout)
        if process.is_alive():
            process.kill()
            process.join()


def run_load(load: Load, check: Check | None = None) -> Tally:
    with start_load(load, check) as running:
        return running.wait()


def _run(pipe: Pipe, load: Load, check: Check | None) -> None:
    uvloop.run(_generate(pipe, load, check))


async def _generate(pipe: Pipe, load: Load, check: Check | None) -> None:
    generator = Generator(load, check)
    loop = asyncio.get_running_loop()

    def on_message() -> None:  # a request to stop, or the other end is closed
        loop.remove_reader(pipe.fileno())
        generator.stop()

    loop.add_reader(pipe.fileno(), on_message)
    pipe.send(time.monotonic())
    tally = await generator.run()
    loop.remove_reader(pipe.fileno())
    os.set_blocking(pipe.fileno(), True)  # the event loop had made it non-blocking, and a tally is large
    with contextlib.suppress(BrokenPipeError):  # the other end needs no tally
        pipe.send(tally)
