"""The rules of the answers of an evaluation: those of a protocol, with re-ranking if it is requested."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fansrec.artifact import Artifact
from fansrec.engine.rules import Rules
from fansrec.engine.traits import traits_of
from fansrec.evaluation.protocol import Protocol, protocol_rules


def evaluation_rules(
    artifact: Artifact, protocol: Protocol, fill: str = Rules.fill, controls: Mapping[str, float] | None = None
) -> Rules:
    """Return the rules of answers of a model; raise BadSetting if it cannot be controlled as requested."""
    rules, used = protocol_rules(protocol, fill), used_controls(controls)
    return replace(rules, traits=traits_of(artifact), **used) if used else rules


def used_controls(controls: Mapping[str, float] | None) -> dict[str, Any]:
    """Return the settings of re-ranking that are not 0."""
    return {name: value for name, value in (controls or {}).items() if value}
