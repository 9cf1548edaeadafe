"""The same work on many machines, with Ray. Nothing outside this package knows Ray."""

import os

# What Ray reads when it is imported. All of it can be set otherwise from outside, to look for a fault of Ray's own.
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing of ours calls home
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # its C++ half writes to stderr, where our lines are
    "RAY_DEDUP_LOGS_SKIP_REGEX": "^",  # what machines report of each dead worker: it is retried, or told in one line
}
for name, value in QUIET.items():
    os.environ.setdefault(name, value)
