"""Time limits, as the command line and Python give them."""

import math
import re

from fansrec.errors import BadSetting

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def parse_duration(option: str, value: str | float) -> float:
    """Return the seconds of a duration such as 90, 90s, 10m or 1.5h; a number is one of seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", value.strip()) if isinstance(value, str) else None
    seconds = float(found[1]) * UNITS[found[2]] if found else 0.0 if isinstance(value, str) else float(value)
    if not 0 < seconds < math.inf:
        raise BadSetting(f"{option} is {value!r}; it must be a duration above 0 such as 90s, 10m or 2h")
    return seconds
