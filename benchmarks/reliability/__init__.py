"""What the service promises, tried on a running one: a script a promise, each a table of what was asked and what came.

    python -m benchmarks.reliability --all [--quick] [--json FILE]
    python -m benchmarks.reliability.kill [--quick] [--json FILE]

Each script starts `fans serve` itself, on a free port of this machine, and exits with 1 if a promise was broken.
"""
