"""`fans serve --engine ray`: deploy the service on a cluster, or run it on a local Ray until a signal stops it."""

import os
import signal
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import ray
from ray import serve
from ray.serve.config import HTTPOptions
from ray.serve.context import _get_global_client
from ray.serve.exceptions import RayServeException
from ray.serve.schema import LoggingConfig, ReplicaState

from fansrec.cluster.connection import cluster
from fansrec.cluster.serving import retry_middleware
from fansrec.cluster.serving.application import APPLICATION, FRONT, MODELS, Scale, choose_scale, deploy
from fansrec.cluster.serving.deployments import PREPARE_SECONDS, Specs, agree, next_config
from fansrec.errors import BadSetting, Unfinished
from fansrec.serving.http.sockets import bind, url_of
from fansrec.serving.run import Announce
from fansrec.serving.server import KEEP_ALIVE_SECONDS
from fansrec.serving.settings import Settings, read_settings

CONNECTION_SETTINGS = ("max_connections", "max_header_bytes", "header_timeout_s", "write_timeout_s", "max_unsent_bytes")
# For all processes of Ray Serve: the middleware that sends the requests of a dead front again; and direct calls, which
# take a fifth less processor time and suit deployments that never block their event loop, as ours do not.
SERVE_ENVIRONMENT = {
    "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": f"{retry_middleware.__name__}.middlewares",
    "RAY_SERVE_USE_GRPC_BY_DEFAULT": "1",
    "RAY_SERVE_RUN_USER_CODE_IN_SEPARATE_THREAD": "0",
    "RAY_SERVE_RUN_ROUTER_IN_SEPARATE_LOOP": "0",
}
POLL_SECONDS = 0.1
DRAIN_SECONDS = 1.0, 30.0  # notice and time for accepted requests when the service is removed from a cluster


def serve_on_ray(settings: Settings, address: str | None, scale: Scale | None, announce: Announce) -> None:
    """Deploy on the cluster at the address and return; without an address, serve here until a signal stops it."""
    if settings.writes is not None:
        raise BadSetting("--writes needs the service of one machine: fronts on a cluster cannot share a log; omit it")
    settings = _absolute(settings)
    if address is not None:
        with cluster(address):
            announce(deploy_service(settings, scale))
        return
    with bind(settings.host, settings.port) as free:  # Ray takes a minute to report that a port is in use
        settings = settings.model_copy(update={"port": free.getsockname()[1]})
    with cluster():
        url = deploy_service(settings, scale)
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):  # only now: before, a signal ends the command
            signal.signal(number, lambda *_: stop.set())
        announce(url)
        stop.wait()
        shutdown = threading.Thread(target=_shut_down, args=(settings,), daemon=True)
        shutdown.start()
        while shutdown.is_alive() and not _ray_has_ended():
            shutdown.join(POLL_SECONDS)


def stop_on_ray(address: str | None) -> None:
    """Remove the service from a cluster; accepted requests are answered first."""
    if address is None:
        raise BadSetting("--stop needs the --address of the cluster that the service is on")
    with cluster(address):
        if APPLICATION not in serve.status().applications:
            raise BadSetting(f"there is no service of fansrec on the cluster at {address}")
        if _has_replicas(FRONT):
            with suppress(Exception):  # fronts that do not answer have no requests to wait for
                _drain(*DRAIN_SECONDS)
        serve.delete(APPLICATION)


def ignored_settings(settings: Settings) -> list[str]:
    """Return the names of settings that were given but have no effect on Ray."""
    return [name for name in ("workers", *CONNECTION_SETTINGS) if name in settings.model_fields_set]


def deploy_service(settings: Settings, scale: Scale | None) -> str:
    """Deploy the service on the connected cluster, in place of the one that may be there; return its URL."""
    requested: Specs = [spec.model_dump(mode="json") for spec in settings.models]
    scale = choose_scale(scale, settings.device, ray.cluster_resources())
    checked = None if _has_replicas(MODELS) else _begin_check(settings, requested)
    settings = _start_proxies(settings)
    old = _handle(FRONT).config.remote().result(timeout_s=PREPARE_SECONDS) if _has_replicas(FRONT) else None
    if checked is None:
        prepared = _handle(MODELS).broadcast("prepare", requested).results(timeout_s=PREPARE_SECONDS)
    else:
        prepared = [ray.get(checked, timeout=PREPARE_SECONDS)]
    try:
        deploy(settings, next_config(requested, agree(prepared), old) | {"scale": asdict(scale)})
    except RuntimeError as error:
        message = " ".join(str(error).split())[:500]
        raise Unfinished(f"the service could not be deployed on the cluster: {message}") from error
    return url_of(settings.host.strip("[]"), settings.port)


def _begin_check(settings: Settings, specs: Specs) -> Any:
    """Start reading the models once where replicas will be, so that a bad one is reported in one line."""
    # A process releases its GPU only by ending.
    options = {"num_cpus": 0} if settings.device == "cpu" else {"num_cpus": 0, "num_gpus": 1, "max_calls": 1}
    return ray.remote(**options)(_check).remote(settings.model_dump(mode="json"), specs)


def _check(settings: dict[str, Any], specs: Specs) -> dict[str, Any]:
    from fansrec.cluster.serving.engine import ReplicaEngine

    return ReplicaEngine(Settings.model_validate(settings)).prepare(specs)


def _start_proxies(settings: Settings) -> Settings:
    """Start Ray's proxies at the address of the settings; return the settings with the address of running proxies."""
    try:
        running = _get_global_client().http_config
    except RayServeException:  # Ray Serve does not run on this cluster
        serve.start(
            http_options=HTTPOptions(host=settings.host, port=settings.port, keep_alive_timeout_s=KEEP_ALIVE_SECONDS),
            logging_config=LoggingConfig(log_level="WARNING", enable_access_log=False),
            controller_options={"runtime_env": {"env_vars": SERVE_ENVIRONMENT}},
        )
        return settings
    different = {name for name in ("host", "port") if getattr(settings, name) != getattr(running, name)}
    if different & settings.model_fields_set:
        raise BadSetting(f"Ray Serve already listens on {running.host}:{running.port}; leave out --host and --port")
    return settings_at(settings, running.host, running.port)


def settings_at(settings: Settings, host: str, port: int) -> Settings:
    """Return the settings with the address of a running service, validated again, since it may need keys."""
    return read_settings(settings.model_dump(exclude_unset=True) | {"host": host, "port": port}, None, {})


def _has_replicas(deployment: str) -> bool:
    """Return whether a replica of the deployment runs, whatever the status of the application."""
    app = serve.status().applications.get(APPLICATION)
    status = app.deployments.get(deployment) if app else None
    return status is not None and status.replica_states.get(ReplicaState.RUNNING, 0) > 0


def _handle(deployment: str) -> Any:
    return serve.get_deployment_handle(deployment, APPLICATION)


def _absolute(settings: Settings) -> Settings:
    """Return the settings with absolute paths; links stay links, so that a reload follows them."""
    models = [spec.model_copy(update={"run": Path(os.path.abspath(spec.run))}) for spec in settings.models]
    paths = {"keys": settings.keys, "search_folder": settings.search_folder}
    others = {name: path and Path(os.path.abspath(path)) for name, path in paths.items()}
    return settings.model_copy(update={"models": tuple(models)} | others)


def _ray_has_ended() -> bool:
    """Return whether the signal ended Ray's processes too, as when it goes to a whole process group."""
    node = ray._private.worker._global_node
    return node is None or bool(node.dead_processes())


def _shut_down(settings: Settings) -> None:
    with suppress(Exception):  # fronts that do not answer have no requests to wait for
        _drain(settings.notice_s, settings.drain_s)
        serve.shutdown()


def _drain(notice_s: float, drain_s: float) -> None:
    """Let fronts report not ready, refuse requests after the notice, and answer those they have accepted."""
    _handle(FRONT).broadcast("drain", False).results(timeout_s=drain_s)
    time.sleep(notice_s)
    end = time.monotonic() + drain_s
    while any(_handle(FRONT).broadcast("drain", True).results(timeout_s=drain_s)) and time.monotonic() < end:
        time.sleep(POLL_SECONDS)
