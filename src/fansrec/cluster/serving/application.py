"""The application on Ray Serve: its deployments, their limits, and how it is deployed on a cluster."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ray
from ray import serve
from ray.serve.schema import LoggingConfig

from fansrec import __version__
from fansrec.cluster.serving.deployments import Config
from fansrec.cluster.serving.models import Models
from fansrec.errors import BadSetting
from fansrec.serving.settings import Settings

APPLICATION, FRONT, MODELS = "fansrec", "Front", "Models"
CALLS_PER_REPLICA = 2  # of one front: while one is answered, the next is on its way
MAX_CALLS = 256
MIN_FRONTS = 2  # so that the death of one causes no interruption
FRONT_TARGET = 64  # average number of requests in progress at a front above which another front is started
SCALING = {"upscale_delay_s": 5.0, "downscale_delay_s": 120.0, "look_back_period_s": 5.0, "metrics_interval_s": 1.0}


@dataclass(frozen=True)
class Scale:
    """The minimum and maximum number of replicas that hold models."""

    least: int
    most: int


def choose_scale(requested: Scale | None, device: str, resources: Mapping[str, float]) -> Scale:
    """Return the requested scale; default: as many replicas as the cluster has room for, and two where possible."""
    room = max(1, int(resources.get("CPU" if device == "cpu" else "GPU", 0)))
    scale = requested or Scale(min(2, room), room)
    for kind in ("CPU",) if device == "cpu" else ("CPU", "GPU"):
        if (available := int(resources.get(kind, 0))) < scale.least:  # Ray would wait for machines
            raise BadSetting(
                f"{scale.least} replicas need a {kind} each, and the cluster has {available}; "
                f"request fewer (--replicas), or add machines"
            )
    return scale


def deploy(settings: Settings, config: Config) -> None:
    """Deploy the application on the cluster, or replace the one there replica by replica, as Ray Serve does it.

    If only the models differ, no process ends: each replica switches to the models that it has prepared.
    """
    logs = LoggingConfig(log_level="WARNING", enable_access_log=False)  # the application writes its own
    application = _application(settings, Scale(**config["scale"]), config)
    serve.run(application, name=APPLICATION, route_prefix="/", logging_config=logs)


def _application(settings: Settings, scale: Scale, config: Config) -> serve.Application:
    from fansrec.cluster.serving.front import Front  # imported here, since a front deploys too when models are reloaded

    # Whether a new replica can start before an old one ends; without room Ray would wait for it forever.
    has_room = ray.available_resources().get("CPU" if settings.device == "cpu" else "GPU", 0) >= 1
    own = settings.model_copy(update={"workers": min(CALLS_PER_REPLICA * scale.most, MAX_CALLS)})
    values = own.model_dump(mode="json")
    models = _deployment(
        Models,
        MODELS,
        own,
        autoscaling_config=_scaling(scale.least, scale.most, 1.0),
        max_ongoing_requests=4 * CALLS_PER_REPLICA,
        ray_actor_options={"num_cpus": 1, "num_gpus": 0 if own.device == "cpu" else 1, "runtime_env": {}},
        user_config=config,
        max_surge_percent=100 if has_room else 0,
    ).bind(values)
    fronts = _deployment(
        Front,
        FRONT,
        own,
        autoscaling_config=_scaling(MIN_FRONTS, max(MIN_FRONTS, scale.most), FRONT_TARGET),
        max_ongoing_requests=2 * own.queue_requests,  # fronts themselves refuse requests at overload
        max_queued_requests=own.queue_requests,
        backpressure_config={"status_code": 429, "retry_after_s": 1},
        ray_actor_options={"num_cpus": 0, "runtime_env": {}},
        user_config=config,
        max_surge_percent=100,
    )
    return fronts.bind(values, models)


def _scaling(least: int, most: int, target: float) -> dict[str, float]:
    return SCALING | {"min_replicas": least, "max_replicas": most, "target_ongoing_requests": target}


def _deployment(kind: Any, name: str, settings: Settings, max_surge_percent: int, **options: Any) -> serve.Deployment:
    deployment = serve.deployment(
        kind,
        name=name,
        graceful_shutdown_timeout_s=settings.drain_s,
        graceful_shutdown_wait_loop_s=0.2,
        health_check_period_s=min(2.0, settings.hang_s / 2),
        health_check_timeout_s=settings.hang_s,
        **options,
    )
    # Ray Serve would give each deployment a random version, and so end all processes where only the models change.
    values = json.dumps([__version__, settings.model_dump(mode="json", exclude={"models"})], sort_keys=True)
    version = hashlib.sha256(values.encode()).hexdigest()[:16]
    return deployment.options(version=version, max_surge_percent=max_surge_percent, _internal=True)
