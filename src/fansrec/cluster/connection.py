"""A Ray cluster to work on: the one at an address, or a local one for as long as it is needed."""

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

import grpc
import ray
import ray.data
from ray._private.services import canonicalize_bootstrap_address

from fansrec.cluster.tokens import private_ray, sent_token, wanted_token
from fansrec.cluster.troubles import in_plain_words
from fansrec.errors import BadSetting

LOCAL, AUTO = "local", "auto"
CONNECT_SECONDS = 20.0  # a busy machine takes several
LOGGERS = ("ray", "ray.data", "ray.train", "ray.serve")


@contextmanager
def cluster(address: str | None = None, cpus: int | None = None) -> Iterator[None]:
    """Connect to Ray for the block; errors inside it are raised as FansError where they are the user's.

    `address` is that of a running cluster (`host:6379`, or `auto` on one of its machines). Without one, a local Ray of
    `cpus` cores (all by default) starts and ends with the block, and only this process can use it. A process that is
    already connected stays connected.
    """
    if ray.is_initialized():
        with in_plain_words():
            yield
        return
    address = _found() if address == AUTO else address or LOCAL
    with _access(address):
        _connect(address, cpus)
        try:
            with _stopped_by_termination(), in_plain_words():
                yield
        finally:
            with suppress(Exception):  # a cluster that is gone needs no goodbye
                ray.shutdown()


def _access(address: str) -> AbstractContextManager[None]:
    """Return the block in which Ray authenticates itself as the cluster wants it."""
    return private_ray() if address == LOCAL else sent_token(token_for(address))


def _found() -> str:
    """Return the address of the cluster that this machine belongs to."""
    address = canonicalize_bootstrap_address(AUTO)
    if address is None:
        raise _refusal(AUTO, ConnectionError("no Ray was started on this machine"))
    return str(address)


@contextmanager
def _stopped_by_termination() -> Iterator[None]:
    """SIGTERM as Ctrl-C: left to itself, Ray writes a trace of its C++ half and aborts."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _connect(address: str, cpus: int | None) -> None:
    local = {"num_cpus": cpus, "include_dashboard": False} if address == LOCAL else {}
    try:
        with _silence():
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, configure_logging=True, **local)
    except Exception as error:  # of many kinds, plain ones too
        raise _refusal(address, error) from error
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # what goes wrong is raised, and told in one line
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.raise_original_map_exception = True  # not wrapped, or a FansError would not be known as one
    context.execution_options.preserve_order = True


@contextmanager
def _silence() -> Iterator[None]:
    """Nothing from Ray's C++ half, which writes past Python to stderr, even that it has been told to be quiet."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _refusal(address: str, error: Exception) -> BadSetting:
    told = " ".join(str(error).split())
    if "ersion mismatch" in told:
        return BadSetting(f"the cluster at {address} runs other versions: {told[:300]}; install the same on both sides")
    if address == LOCAL:
        return BadSetting(f"a local Ray did not start ({told[:200]}); try again, or give the --address of a cluster")
    return BadSetting(
        f"there is no Ray cluster at {address} ({told[:200]}); start one (`ray start --head`), or leave out --address"
    )


def token_for(address: str) -> str | None:
    """Return the token to use at the address, None if the cluster does not ask for one (or uses TLS).

    Ray itself waits for minutes where nobody answers, or somebody who does not speak as it does.
    """
    host, _, port = address.rpartition(":")
    if "//" in host or not host or not port.isdigit() or int(port) > 65535:
        raise BadSetting(f"--address {address} is not of the form HOST:PORT, or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
        if os.environ.get("RAY_USE_TLS", "0") != "0":
            return None
        with grpc.insecure_channel(address, [("grpc.enable_http_proxy", 0)]) as channel:
            grpc.channel_ready_future(channel).result(timeout=CONNECT_SECONDS)
            return wanted_token(channel, address, CONNECT_SECONDS)
    except OSError as error:
        raise _refusal(address, error) from error
    except (grpc.FutureTimeoutError, grpc.RpcError):
        raise _refusal(address, TimeoutError("what listens there is no Ray")) from None
