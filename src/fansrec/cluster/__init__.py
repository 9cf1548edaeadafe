"""The same commands on a Ray cluster. Only this package imports Ray."""

import os

# Ray reads these variables when it is imported. Values from outside take precedence, to debug Ray itself.
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",  # do not send usage statistics
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # its C++ part writes to stderr, where our messages are
    "RAY_DEDUP_LOGS_SKIP_REGEX": "^",  # reports of dead workers, which are restarted or reported in one line
}
for name, value in ENVIRONMENT.items():
    os.environ.setdefault(name, value)
