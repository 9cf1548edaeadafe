"""Measure a running service against its targets: one script per property, each prints targets and measurements.

    python -m benchmarks.reliability --all [--quick] [--json FILE]
    python -m benchmarks.reliability.kill [--quick] [--json FILE]

Each script starts `fans serve` itself, on a free port of this machine, and exits with 1 if a target was missed.
"""
