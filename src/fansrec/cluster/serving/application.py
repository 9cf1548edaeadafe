"""The Serve application: which deployments it has, under which limits, and how it is put on a cluster."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ray
from ray import serve
from ray.serve.schema import LoggingConfig

from fansrec import __version__
from fansrec.cluster.serving.config import Config
from fansrec.cluster.serving.models import Models
from fansrec.errors import BadSetting
from fansrec.serving.settings import Settings

APPLICATION, FRONT, MODELS = "fansrec", "Front", "Models"
CALLS_A_REPLICA = 2  # of one front: while one is answered, the next is on its way
MOST_CALLS = 256
FEWEST_FRONTS = 2  # so that the death of one is no pause
FRONT_TARGET = 64  # requests under way at a front, on average, above which there will be one more
SCALING = {"upscale_delay_s": 5.0, "downscale_delay_s": 120.0, "look_back_period_s": 5.0, "metrics_interval_s": 1.0}


@dataclass(frozen=True)
class Scale:
    """How many replicas hold models, at least and at most."""

    least: int
    most: int


def scale_for(asked: Scale | None, device: str, there: Mapping[str, float]) -> Scale:
    """Unless asked otherwise as many as the cluster has room for, two at least where it has: one may die."""
    room = max(1, int(there.get("CPU" if device == "cpu" else "GPU", 0)))
    scale = asked or Scale(min(2, room), room)
    _refuse_too_many(scale, device, there)
    return scale


def _refuse_too_many(scale: Scale, device: str, there: Mapping[str, float]) -> None:
    """Ray would wait for machines that may never come."""
    for kind in ("CPU",) if device == "cpu" else ("CPU", "GPU"):
        if (has := int(there.get(kind, 0))) < scale.least:
            raise BadSetting(
                f"{scale.least} replicas need a {kind} each, and the cluster has {has}; "
                f"ask for fewer (--replicas), or add some"
            )


def deploy(settings: Settings, config: Config) -> None:
    """Put the application on the cluster, or in place of what is there: replica after replica, as Serve does it.

    If only models are others, no process ends: Ray has each replica take the models it prepared.
    """
    logs = LoggingConfig(log_level="WARNING", enable_access_log=False)  # the application writes its own
    application = _application(settings, Scale(**config["scale"]), config)
    serve.run(application, name=APPLICATION, route_prefix="/", logging_config=logs)


def _application(settings: Settings, scale: Scale, config: Config) -> serve.Application:
    from fansrec.cluster.serving.front import Front  # which deploys too, when models are reloaded

    own = settings.model_copy(update={"workers": min(CALLS_A_REPLICA * scale.most, MOST_CALLS)})
    told = own.model_dump(mode="json")
    models = _deployment(
        Models,
        MODELS,
        own,
        autoscaling_config=SCALING
        | {"min_replicas": scale.least, "max_replicas": scale.most, "target_ongoing_requests": 1.0},
        max_ongoing_requests=4 * CALLS_A_REPLICA,
        ray_actor_options={"num_cpus": 1, "num_gpus": 0 if own.device == "cpu" else 1, "runtime_env": {}},
        user_config=config,
        max_surge_percent=100 if _room(own.device) else 0,
    ).bind(told)
    fronts = _deployment(
        Front,
        FRONT,
        own,
        autoscaling_config=SCALING
        | {
            "min_replicas": FEWEST_FRONTS,
            "max_replicas": max(FEWEST_FRONTS, scale.most),
            "target_ongoing_requests": FRONT_TARGET,
        },
        max_ongoing_requests=2 * own.queue_requests,  # what is too much, fronts refuse by themselves
        max_queued_requests=own.queue_requests,
        backpressure_config={"status_code": 429, "retry_after_s": 1},
        ray_actor_options={"num_cpus": 0, "runtime_env": {}},
        user_config=config,
        max_surge_percent=100,
    )
    return fronts.bind(told, models)


def _room(device: str) -> bool:
    """Whether a new replica can come before an old one goes; where there is no room, it would be waited for forever."""
    return bool(ray.available_resources().get("CPU" if device == "cpu" else "GPU", 0) >= 1)


def _deployment(kind: Any, name: str, settings: Settings, max_surge_percent: int, **options: Any) -> serve.Deployment:
    made = serve.deployment(
        kind,
        name=name,
        graceful_shutdown_timeout_s=settings.drain_s,
        graceful_shutdown_wait_loop_s=0.2,
        health_check_period_s=min(2.0, settings.hang_s / 2),
        health_check_timeout_s=settings.hang_s,
        **options,
    )
    # Serve gives every deployment a version drawn at random, and so ends all processes where only models change.
    return made.options(version=_version(settings), max_surge_percent=max_surge_percent, _internal=True)


def _version(settings: Settings) -> str:
    """The same for the same code under the same settings; models are no part of it."""
    told = json.dumps([__version__, settings.model_dump(mode="json", exclude={"models"})], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:16]
