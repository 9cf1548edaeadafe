"""The blocking work of a model replica: reads models, keeps them in memory and answers the calls of fronts."""

import itertools
import json
import time
from dataclasses import replace
from typing import Any

from fansrec.cluster.serving.deployments import Specs, pin
from fansrec.engine.threads import use_one_thread
from fansrec.errors import BadArtifact, BadSetting, FansError
from fansrec.files import format_os_error
from fansrec.serving.processes.batching import answer_jobs
from fansrec.serving.processes.channel import Message
from fansrec.serving.processes.jobs import Job, Reply, Rows, pack_replies, with_lists
from fansrec.serving.processes.loaded_model import LoadedModel
from fansrec.serving.processes.loading import describe, load_models
from fansrec.serving.settings import Settings

Call = tuple[Message, float]  # the message that a front sent, and when it arrived
CallResult = tuple[Rows, bytes]  # packed replies


class ReplicaEngine:
    def __init__(self, settings: Settings) -> None:
        use_one_thread()  # replicas run in parallel instead, as workers do on one machine
        self.models = ModelCache(settings.device, settings.backend)
        self._max_tokens = settings.batch_tokens
        self._heartbeat_at = 0.0  # 0: no work is in progress

    @property
    def silent_seconds(self) -> float:
        """Seconds for which work in progress has given no sign of life."""
        return time.monotonic() - self._heartbeat_at if self._heartbeat_at else 0.0

    def prepare(self, specs: Specs) -> dict[str, Any]:
        """Read models beside those that serve; return their descriptions, or why they are refused."""
        try:
            return {"models": self.models.load(specs)}
        except (FansError, OSError) as error:
            kind = type(error).__name__ if isinstance(error, FansError) else "BadArtifact"
            detail = format_os_error(error) if isinstance(error, OSError) else error.on_command_line
            return {"refused": kind, "detail": detail}

    def answer(self, calls: list[Call]) -> list[CallResult]:
        """Answer all calls together; their jobs get new ids, since each front counts for itself."""
        ids, found = itertools.count(), dict[int, Reply]()
        renumbered = [[(job.id, job._replace(id=next(ids))) for job in _jobs(call)] for call in calls]
        jobs = [job for call in renumbered for _, job in call]
        self._heartbeat()
        try:
            for replies in answer_jobs(self.models, jobs, self._max_tokens, self._heartbeat):
                found |= {reply.id: reply for reply in replies}
        finally:
            self._heartbeat_at = 0.0
        return [pack_replies([replace(found[job.id], id=id_) for id_, job in call]) for call in renumbered]

    def _heartbeat(self) -> None:
        self._heartbeat_at = time.monotonic()


def _jobs(call: Call) -> list[Job]:
    """Return the jobs of a call, with its durations as moments of this machine's clock."""
    message, arrived = call
    jobs = [job._replace(since=arrived - job.since, deadline=arrived + job.deadline) for job in message["jobs"]]
    return [with_lists(job) for job in jobs]


class ModelCache:
    """The models in the memory of a replica: the current ones, the previous ones, and those that are prepared."""

    def __init__(self, device: str, backend: str) -> None:
        self._device, self._backend = device, backend
        self._loaded: dict[str, dict[str, LoadedModel]] = {}
        self._current: Specs = []
        self._previous: Specs = []

    def load(self, specs: Specs) -> list[dict[str, Any]]:
        """Read models beside those that serve, unless they are in memory; return their descriptions.

        Raise BadArtifact if a spec is pinned to a hash that its folder no longer has.
        """
        models = self._loaded.get(_key(specs)) or self._read(specs)
        described = [describe(model) for model in models.values()]
        for spec, model in zip(specs, described, strict=True):
            if spec.get("hash", model["hash"]) != model["hash"]:
                raise BadArtifact(f"{spec['run']} was overwritten since {spec['name']} was served from it; reload it")
        self._loaded = self._loaded | {_key(pin(specs, described)): models}  # another thread may be iterating over it
        return described

    def serve(self, current: Specs, previous: Specs) -> None:
        """Answer with `current` from now on; of all others only `previous` stays in memory, to return to."""
        if _key(current) not in self._loaded:
            # If a folder was overwritten since, its present content is all there is.
            self._loaded = {_key(current): self._read(current)} | self._loaded
        self._current, self._previous = current, previous
        kept = {_key(current), _key(previous)}
        self._loaded = {key: models for key, models in self._loaded.items() if key in kept}

    def _read(self, specs: Specs) -> dict[str, LoadedModel]:
        fields = ("name", "run", "generation")
        models = load_models([{name: spec[name] for name in fields} for spec in specs], self._device, self._backend)
        for model in models.values():
            model.move_to_device()
        return models

    def __getitem__(self, name: str) -> LoadedModel:
        """Return the model of that name.

        While models change, every replica gets calls of fronts that know the new models and of fronts that know the
        old ones: all models in memory are found by their names, the current ones first.
        """
        for models in (self._loaded.get(_key(self._current), {}), *reversed(self._loaded.values())):
            if name in models:
                return models[name]
        if any(spec["name"] == name for spec in self._previous):
            self.load(self._previous)
            return self[name]
        raise BadSetting(f"the model {name} is no longer served")


def _key(specs: Specs) -> str:
    return json.dumps(specs, sort_keys=True)
