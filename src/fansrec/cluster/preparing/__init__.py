"""`fans prepare` on a cluster: the same corpus as on one machine, from input shards to corpus shards."""

import os

import ray

process = getattr(ray.get_runtime_context(), "worker", None) if ray.is_initialized() else None
if process is not None and process.mode == ray.WORKER_MODE:
    # Ray gives a task one core; polars would use all cores in each of the tasks on a machine.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
