"""A Ray cluster to work on: the one at an address, or a local one for as long as it is needed."""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing of ours calls home
os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # its log goes to stderr, where our lines are

import ray
import ray.data

from fansrec.cluster.troubles import in_plain_words
from fansrec.errors import BadSetting

LOCAL = "local"
KNOCK_SECONDS = 5.0
QUIET = ("ray", "ray.data", "ray.train", "ray.serve")


@contextmanager
def cluster(address: str | None = None, cpus: int | None = None) -> Iterator[None]:
    """Connected to Ray inside the block; what fails there is told as the FansError it comes to.

    `address` is that of a running cluster (`host:6379`, `ray://host:10001`, `auto`). Without one, a local Ray of `cpus`
    cores (all, unless told otherwise) begins and ends with the block. Who is connected already stays so.
    """
    if ray.is_initialized():
        with in_plain_words():
            yield
        return
    _connect(address or LOCAL, cpus)
    try:
        with in_plain_words():
            yield
    finally:
        with suppress(Exception):  # a cluster that is gone needs no goodbye
            ray.shutdown()


def _connect(address: str, cpus: int | None) -> None:
    _knock(address)
    local = {"num_cpus": cpus, "include_dashboard": False} if address == LOCAL else {}
    try:
        ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, configure_logging=True, **local)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise _refusal(address, error) from error
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True


def _refusal(address: str, error: Exception) -> BadSetting:
    told = " ".join(str(error).split())
    if "ersion mismatch" in told:
        return BadSetting(f"the cluster at {address} runs other versions: {told[:300]}; install the same on both sides")
    return BadSetting(
        f"there is no Ray cluster at {address} ({told[:200]}); start one (`ray start --head`), or leave out --address"
    )


def _knock(address: str) -> None:
    """Ray itself waits for minutes where nobody answers."""
    if address in (LOCAL, "auto"):
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise BadSetting(f"--address {address} is not of the form HOST:PORT, ray://HOST:PORT or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), KNOCK_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _refusal(address, error) from error
