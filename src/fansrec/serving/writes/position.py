"""Which writes of a log an artifact contains."""

from typing import Any

from fansrec.artifact import Artifact

SECTION = "writes"  # of config.json


def position_of(artifact: Artifact, log: str) -> int | None:
    """Return the number of the newest write of the log with this id that an artifact contains; None: not known."""
    section: Any = artifact.config.get(SECTION)
    if not isinstance(section, dict) or section.get("log") != log:
        return None
    seq = section.get("seq")
    return seq if type(seq) is int and seq >= 0 else None


def section_of(log: str, seq: int) -> dict[str, Any]:
    """Return the part of config.json from which `position_of` reads."""
    return {SECTION: {"log": log, "seq": seq}}
