"""Connection to a Ray cluster: one at an address, or a temporary local one."""

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import grpc
import ray
import ray._private.worker as ray_worker
import ray.data
from ray._private.services import canonicalize_bootstrap_address

from fansrec.cluster.errors import ray_errors
from fansrec.cluster.tokens import private_ray, required_token, use_token
from fansrec.errors import BadSetting

LOCAL, AUTO = "local", "auto"
CONNECT_SECONDS = 20.0  # a busy machine may take several seconds
LOGGERS = ("ray", "ray.data", "ray.train", "ray.serve")


@contextmanager
def cluster(address: str | None = None, cpus: int | None = None) -> Iterator[None]:
    """Connect to Ray inside the block, and raise errors of the user and of the cluster as FansError.

    `address` is that of a running cluster (`host:6379`, or `auto` on one of its machines). Without one, a local Ray of
    `cpus` cores (all by default) starts and ends with the block, and only this process can use it. A process that is
    already connected stays connected.
    """
    if ray.is_initialized():
        with ray_errors():
            yield
        return
    if address == AUTO and (address := canonicalize_bootstrap_address(AUTO)) is None:
        raise _refusal(AUTO, ConnectionError("Ray is not running on this machine"))
    address = address or LOCAL
    with private_ray() if address == LOCAL else use_token(token_for(address)):
        _connect(address, cpus)
        try:
            with _sigterm_as_interrupt(), ray_errors():
                yield
        finally:
            with suppress(Exception):  # the cluster may be gone
                ray.shutdown()


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C: Ray's own handler prints a C++ trace and aborts."""
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
        with _discarded_stderr():
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, configure_logging=True, **local)
    except Exception as error:  # Ray raises many types, plain Exception too
        raise _refusal(address, error) from error
    # Raylets announce every lost worker on stdout, which log_to_driver does not prevent; we report it if it matters.
    ray_worker.print_to_stdstream = lambda *_, **__: None
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # errors are raised and reported in one line
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.raise_original_map_exception = True  # unwrapped, so that a FansError is recognized
    context.execution_options.preserve_order = True


@contextmanager
def _discarded_stderr() -> Iterator[None]:
    """Discard stderr at the file descriptor, to which Ray's C++ part writes directly."""
    stderr = os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(null)


def _refusal(address: str, error: Exception) -> BadSetting:
    reason = " ".join(str(error).split())
    if "ersion mismatch" in reason:
        return BadSetting(
            f"the cluster at {address} runs other versions: {reason[:300]}; install the same versions on both sides"
        )
    if address == LOCAL:
        return BadSetting(f"a local Ray did not start ({reason[:200]}); try again, or give the --address of a cluster")
    return BadSetting(
        f"there is no Ray cluster at {address} ({reason[:200]}); start one (`ray start --head`), or leave out --address"
    )


def token_for(address: str) -> str | None:
    """Return the token to use at the address, None if the cluster does not require one (or uses TLS).

    Check the address first: Ray itself would wait for minutes if nothing or another service listens there.
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
            return required_token(channel, address, CONNECT_SECONDS)
    except OSError as error:
        raise _refusal(address, error) from error
    except (grpc.FutureTimeoutError, grpc.RpcError):
        raise _refusal(address, TimeoutError("another service listens there")) from None
