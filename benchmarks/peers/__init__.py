"""Compare the default model with libraries that users would take instead: `python -m benchmarks.peers`.

The modules `files`, `worker` and `*_models` run in the environment of a library too, which has numpy but not fansrec.
"""
