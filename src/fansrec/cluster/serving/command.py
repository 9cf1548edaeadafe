"""`fans serve --engine ray`: put the service on a cluster and leave it there, or run a local one until told to stop."""

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
from fansrec.cluster.serving import again
from fansrec.cluster.serving.application import APPLICATION, FRONT, MODELS, Scale, deploy, scale_for
from fansrec.cluster.serving.config import PREPARE_SECONDS, Places, agreed, following
from fansrec.errors import BadSetting, Unfinished
from fansrec.serving.run import KEEP_ALIVE_SECONDS, Announce, bind
from fansrec.serving.settings import Settings, read_settings

NOTHING_THERE = (
    "workers",
    "max_connections",
    "max_header_bytes",
    "header_timeout_s",
    "write_timeout_s",
    "max_unsent_bytes",
)
# For all processes of Serve: what asks a dead front's requests again; and that calls go the short way, which takes a
# fifth less processor time and suits parts that never block their event loop, as ours do not.
SERVE_ENVIRONMENT = {
    "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": f"{again.__name__}.{again.middlewares.__name__}",
    "RAY_SERVE_USE_GRPC_BY_DEFAULT": "1",
    "RAY_SERVE_RUN_USER_CODE_IN_SEPARATE_THREAD": "0",
    "RAY_SERVE_RUN_ROUTER_IN_SEPARATE_LOOP": "0",
}
POLL_SECONDS = 0.1
DRAIN_SECONDS = 1.0, 30.0  # notice, and for what was accepted, where the service is taken off a cluster


def serve_on_ray(settings: Settings, address: str | None, scale: Scale | None, announce: Announce) -> None:
    """On the cluster at the address: deploy and return. Without one: serve here until told to stop."""
    settings = _absolute(settings)
    if address is not None:
        with cluster(address):
            announce(put(settings, scale))
        return
    with bind(settings.host, settings.port) as free:  # Ray takes a minute to say that a port is taken
        settings = settings.model_copy(update={"port": free.getsockname()[1]})
    with cluster():
        at = put(settings, scale)
        stop = _told_to_stop()  # from here on; before, a signal ends the command, which may wait for Ray
        announce(at)
        stop.wait()
        ending = threading.Thread(target=_end, args=(settings,), daemon=True)
        ending.start()
        while ending.is_alive() and not _ray_is_gone():
            ending.join(POLL_SECONDS)


def stop_on_ray(address: str | None) -> None:
    """Take the service off a cluster; what it has accepted is answered first."""
    if address is None:
        raise BadSetting("--stop wants the --address of the cluster the service is on")
    with cluster(address):
        if APPLICATION not in serve.status().applications:
            raise BadSetting(f"there is no service of fansrec on the cluster at {address}")
        if _has_replicas(FRONT):
            with suppress(Exception):  # fronts that do not answer have nothing to wait for
                _drain(*DRAIN_SECONDS)
        serve.delete(APPLICATION)


def unheeded(settings: Settings) -> list[str]:
    """Settings that somebody chose and that mean nothing on Ray."""
    return [name for name in NOTHING_THERE if name in settings.model_fields_set]


def put(settings: Settings, scale: Scale | None) -> str:
    """The service on the cluster this process is connected to, in place of the one that may be there; its address."""
    asked: Places = [place.model_dump(mode="json") for place in settings.models]
    scale = scale_for(scale, settings.device, ray.cluster_resources())
    checked = None if _has_replicas(MODELS) else _begin_check(settings, asked)
    settings = _started(settings)
    old = _front().config.remote().result(timeout_s=PREPARE_SECONDS) if _has_replicas(FRONT) else None
    if checked is None:
        prepared = _models().broadcast("prepare", asked).results(timeout_s=PREPARE_SECONDS)
    else:
        prepared = [ray.get(checked, timeout=PREPARE_SECONDS)]
    try:
        deploy(settings, following(asked, agreed(prepared), old) | {"scale": asdict(scale)})
    except RuntimeError as error:
        told = " ".join(str(error).split())[:500]
        raise Unfinished(f"the service could not be put on the cluster: {told}") from error
    host = settings.host.strip("[]")
    return f"http://[{host}]:{settings.port}/" if ":" in host else f"http://{host}:{settings.port}/"


def _begin_check(settings: Settings, asked: Places) -> Any:
    """Where replicas will be; a process that has had a GPU gives it back only by ending."""
    where = {"num_cpus": 0} if settings.device == "cpu" else {"num_cpus": 0, "num_gpus": 1, "max_calls": 1}
    return ray.remote(**where)(_check).remote(settings.model_dump(mode="json"), asked)


def _check(settings: dict[str, Any], places: Places) -> dict[str, Any]:
    """Models are read once before there is any replica, so that a bad one is told in a line."""
    from fansrec.cluster.serving.desk import Desk

    return Desk(Settings.model_validate(settings)).prepare(places)


def _started(settings: Settings) -> Settings:
    """Ray's proxies, listening where the settings say; those that are there already stay where they are."""
    there = _proxies()
    if there is None:
        http = HTTPOptions(host=settings.host, port=settings.port, keep_alive_timeout_s=KEEP_ALIVE_SECONDS)
        serve.start(
            http_options=http,
            logging_config=LoggingConfig(log_level="WARNING", enable_access_log=False),
            controller_options={"runtime_env": {"env_vars": SERVE_ENVIRONMENT}},
        )
        return settings
    asked = {name: value for name in ("host", "port") if (value := getattr(settings, name)) != getattr(there, name)}
    if asked.keys() & settings.model_fields_set:
        raise BadSetting(f"Ray Serve listens on {there.host}:{there.port} there; leave out --host and --port")
    return listening(settings, there.host, there.port)


def listening(settings: Settings, host: str, port: int) -> Settings:
    """The settings for a service that is there already, refused if they make no sense there: it may want keys."""
    return read_settings(settings.model_dump(exclude_unset=True) | {"host": host, "port": port}, None, {})


def _proxies() -> Any:
    """Where Serve listens on this cluster; None if it is not there."""
    try:
        return _get_global_client().http_config
    except RayServeException:
        return None


def _has_replicas(deployment: str) -> bool:
    """Whether anybody can be asked, whatever Serve thinks of the application."""
    app = serve.status().applications.get(APPLICATION)
    there = app.deployments.get(deployment) if app else None
    return there is not None and there.replica_states.get(ReplicaState.RUNNING, 0) > 0


def _front() -> Any:
    return serve.get_deployment_handle(FRONT, APPLICATION)


def _models() -> Any:
    return serve.get_deployment_handle(MODELS, APPLICATION)


def _absolute(settings: Settings) -> Settings:
    """Paths as every process understands them; links stay links, so that a reload follows them."""
    models = [place.model_copy(update={"run": Path(os.path.abspath(place.run))}) for place in settings.models]
    others = {name: path and Path(os.path.abspath(path)) for name, path in _paths(settings).items()}
    return settings.model_copy(update={"models": tuple(models)} | others)


def _paths(settings: Settings) -> dict[str, Path | None]:
    return {"keys": settings.keys, "search_folder": settings.search_folder}


def _told_to_stop() -> threading.Event:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


def _ray_is_gone() -> bool:
    """Whether the signal went to Ray's processes too, as it does where a whole group or service is told to end."""
    node = ray._private.worker._global_node
    return node is None or bool(node.dead_processes())


def _end(settings: Settings) -> None:
    with suppress(Exception):  # fronts that do not answer have nothing to wait for
        _drain(settings.notice_s, settings.drain_s)
        serve.shutdown()


def _drain(notice_s: float, drain_s: float) -> None:
    """Fronts are ready no longer; after the notice they take nothing any more; what was accepted is answered."""
    _front().broadcast("drain", False).results(timeout_s=drain_s)
    time.sleep(notice_s)
    end = time.monotonic() + drain_s
    while any(_front().broadcast("drain", True).results(timeout_s=drain_s)) and time.monotonic() < end:
        time.sleep(POLL_SECONDS)
