"""The settings of a trained model for readers: rounded, in sections, without those that have no effect in it."""

from collections.abc import Mapping
from typing import Any

from fansrec.models.registry import command_name, entry

NOT_SHOWN = {"category_starts", "checkpoint_seconds", "fingerprint", "given"}
PARTS = ("network", "memory", "linear")  # sections of the hybrid model, each with a weight in the mixture
UNUSED_AT_0 = {"weight_decay", "gradient_norm", "average", "warmup"}  # settings of training
SEARCHED = {"recipe", "watch", "validation_lists"}  # settings of training that a search without gradients uses

Sections = dict[str, dict[str, str]]


def readable_settings(config: Mapping[str, Any]) -> Sections:
    """Return the content of a model's config.json by section: names in words, values as text."""
    model, weights = dict(config.get("config", {})), config.get("config", {}).get("weights", {})
    for part in PARTS:
        if weights.get(part) == 0:  # it is not computed
            model.pop(part, None)
    sections = {"model": {"model": command_name(config.get("model", "")), "variant": config.get("variant")}}
    sections["model"] |= {name: value for name, value in model.items() if not isinstance(value, Mapping)}
    sections |= {name: dict(value) for name, value in model.items() if isinstance(value, Mapping)}
    if isinstance(config.get("linear_model"), Mapping) and "linear" in sections:
        linear = config["linear_model"]
        sections["linear"] = {"model": linear["model"], **linear["settings"], **sections["linear"]}
    sections["training"] = _training(config, weights)
    sections["validation"] = config.get("validation", {})
    return {name: found for name, values in sections.items() if (found := readable(values))}


def readable(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return nested values as text on one level: `splits test`, `preparation min length`, …; without empty ones."""
    flat: dict[str, str] = {}
    for name, value in values.items():
        words = prefix + name.replace("_", " ")
        if isinstance(value, Mapping):
            flat |= readable(value, f"{words} ")
        elif name not in NOT_SHOWN and value not in (None, "", [], ()):
            flat[words] = readable_value(value)
    return flat


def readable_value(value: Any) -> str:
    """Return a value with at most four significant digits, or all digits of an integer."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
    if isinstance(value, list | tuple):
        return ", ".join(map(readable_value, value))
    return str(value)


def _training(config: Mapping[str, Any], weights: Mapping[str, float]) -> dict[str, Any]:
    """Return the settings of training that this model used."""
    training = dict(config.get("training", {}))
    fitted = hasattr(entry(config["model"]).model, "fit") if "model" in config else False
    if fitted or weights.get("network") == 0:
        used = SEARCHED if config.get("validation") else {"recipe"}
        return {name: value for name, value in training.items() if name in used}
    if training.get("scheduler") == "naive":  # masks everything from the start
        training.pop("steps", None)
    return {name: value for name, value in training.items() if value or name not in UNUSED_AT_0}
