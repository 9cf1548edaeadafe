"""`fans prepare` on many machines: the same corpus as on one, out of shards, into shards."""

import os

import ray

process = getattr(ray.get_runtime_context(), "worker", None) if ray.is_initialized() else None
if process is not None and process.mode == ray.WORKER_MODE:
    # Ray gives a task one core; polars would take all of them, for every task that runs beside.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
