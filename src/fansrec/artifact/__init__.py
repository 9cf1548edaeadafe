"""A trained model as one folder, sealed by a manifest of checksums and read as untrusted data."""

from fansrec.artifact.folder import (
    CONFIG,
    FORMAT,
    MANIFEST,
    UNREADABLE,
    WEIGHTS,
    Artifact,
    check,
    read_artifact,
    read_config,
    recipe_of,
    seal,
    unfit,
    write_artifact,
)

__all__ = [
    "CONFIG",
    "FORMAT",
    "MANIFEST",
    "UNREADABLE",
    "WEIGHTS",
    "Artifact",
    "check",
    "read_artifact",
    "read_config",
    "recipe_of",
    "seal",
    "unfit",
    "write_artifact",
]
