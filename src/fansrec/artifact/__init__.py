"""A trained model as one folder, sealed by a manifest of checksums and read as untrusted data."""

from fansrec.artifact.folder import Artifact, read_artifact, read_config, read_counts, recipe_of, unfit, write_artifact
from fansrec.artifact.manifest import CONFIG, COUNTS, FORMAT, MANIFEST, UNREADABLE, WEIGHTS, check, seal

__all__ = [
    "CONFIG",
    "COUNTS",
    "FORMAT",
    "MANIFEST",
    "UNREADABLE",
    "WEIGHTS",
    "Artifact",
    "check",
    "read_artifact",
    "read_config",
    "read_counts",
    "recipe_of",
    "seal",
    "unfit",
    "write_artifact",
]
