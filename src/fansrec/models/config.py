"""What the configurations of models share: common fields, rules for values, and the setting names of nested fields.

A configuration is a frozen dataclass. Its fields are plain values, or sections: dataclasses of plain values themselves,
with a default instance. Users set all of them by flat names (`--set NAME=VALUE`): a field's own name, or the one that
`setting` gives it. Files have the nested form.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from operator import attrgetter
from typing import Any

from fansrec.errors import BadSetting
from fansrec.models.alphabet import SPECIALS, Alphabet

POSITIVE, NOT_NEGATIVE = "must be above 0", "must not be below 0"
RULES: dict[str, Callable[[Any], bool]] = {
    POSITIVE: lambda value: value > 0,
    NOT_NEGATIVE: lambda value: value >= 0,
    "must be at least 1": lambda value: value >= 1,
    "must be at least 0 and below 1": lambda value: 0 <= value < 1,
    "must be above 0 and at most 1": lambda value: 0 < value <= 1,
    "must be from 0 to 1": lambda value: 0 <= value <= 1,
}
BEYOND = 4  # a sequence may be this many times as long as the longest training sequence; see `TokenEmbedding`
AT_LEAST = 1024  # tokens that every model accepts
# Rules of fields that have none of their own.
RULES_BY_NAME = {
    **dict.fromkeys(("width", "layers", "heads", "feedforward", "positions"), "must be at least 1"),
    "dropout": "must be at least 0 and below 1",
}


@dataclass(frozen=True)
class Config:
    """A configuration, or a section of one, whose values are checked against the rules of their fields."""

    def __post_init__(self) -> None:
        """Raise BadSetting if a field has a value that its rule does not allow."""
        for one in fields(self):
            rule, value = one.metadata.get("rule") or RULES_BY_NAME.get(one.name), getattr(self, one.name)
            if isinstance(rule, tuple) and value not in rule:
                raise BadSetting(f"{setting_name(one)} is {value!r}; it can be {' or '.join(rule)}")
            if isinstance(rule, str) and not RULES[rule](value):
                raise BadSetting(f"{setting_name(one)} is {value}; it {rule}")
        width, heads = getattr(self, "width", 0), getattr(self, "heads", 1)
        if heads > 1 and width % heads:
            raise BadSetting(f"width {width} cannot be shared by {heads} heads; make it a multiple of them")


@dataclass(frozen=True)
class ItemsConfig(Config):
    """The items of a model, in category order. The configurations of all models begin with them."""

    category_starts: tuple[int, ...]  # category c is items category_starts[c] to category_starts[c + 1]

    @property
    def alphabet(self) -> Alphabet:
        return Alphabet.of(self.category_starts)


@dataclass(frozen=True)
class SequenceConfig(ItemsConfig):
    """The settings that the sequence models have in common; the paper compares them at equal sizes (appendix A.1)."""

    positions: int  # length of the longest training sequence, special tokens included
    width: int = 64  # embedding dimension
    layers: int = 3
    dropout: float = 0.2
    use_categories: bool = True  # add category embeddings to item embeddings


def longest_sequence(config: Any) -> int | None:
    """Return how many items a model accepts, input and continuation together; None if it has no positions."""
    positions = getattr(config, "positions", None)
    return None if positions is None else max(AT_LEAST, BEYOND * positions) - SPECIALS


def setting(default: Any, rule: str | tuple[str, ...] | None = None, name: str | None = None) -> Any:
    """Return a field with a rule, one of RULES or the values that it can have.

    Users set it under `name`: field names are unique only inside their section.
    """
    return field(default=default, metadata={"rule": rule, "setting": name})


def setting_name(one: Field[Any]) -> str:
    """Return the name under which users set a field."""
    return str(one.metadata.get("setting") or one.name)


def sections(kind: type[Any]) -> dict[str, type[Any]]:
    """Return the sections of a configuration: their dataclasses by field name."""
    return {one.name: type(one.default) for one in fields(kind) if is_dataclass(one.default)}


def settings_of(kind: type[Any]) -> Iterator[tuple[tuple[str, ...], Field[Any]]]:
    """Yield every plain field of a configuration with its path: (name,) or (section, name)."""
    nested = sections(kind)
    for one in fields(kind):
        if one.name in nested:
            yield from (((one.name, inner.name), inner) for inner in fields(nested[one.name]))
        else:
            yield (one.name,), one


def flat_settings(config: Any) -> dict[str, Any]:
    """Return all values of a configuration by setting name."""
    return {setting_name(one): attrgetter(".".join(path))(config) for path, one in settings_of(type(config))}


def nested_settings(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by setting name in the nested form; raise BadSetting for a name that `kind` does not have."""
    paths = {setting_name(one): path for path, one in settings_of(kind)}
    nested: dict[str, Any] = {}
    for name, value in values.items():
        if name not in paths:
            raise BadSetting(f"{kind.__name__} has no setting {name!r}; known are {', '.join(sorted(paths))}")
        *section, own_name = paths[name]
        place = nested.setdefault(section[0], {}) if section else nested
        place[own_name] = value
    return nested


def from_settings(kind: type[Any], values: Mapping[str, Any]) -> Any:
    """Return a configuration with these values by setting name; the others take their defaults."""
    return from_plain(kind, nested_settings(kind, values))


def with_settings(config: Any, values: Mapping[str, Any]) -> Any:
    """Return a copy of a configuration in which these values, by setting name, are replaced."""
    return from_settings(type(config), flat_settings(config) | dict(values))


def from_plain(kind: type[Any], values: Mapping[str, Any]) -> Any:
    """Return a configuration from nested plain values, as `asdict` returns them and JSON files have them."""
    nested = {name: section(**values[name]) for name, section in sections(kind).items() if name in values}
    starts = {"category_starts": tuple(values["category_starts"])} if "category_starts" in values else {}
    return kind(**dict(values) | nested | starts)
