import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from fansrec.validation_messages import in_our_words


@pytest.mark.parametrize(
    ("type_", "value", "words"),
    [
        (int, "x", "must be an integer"),
        (int, 1.5, "must be an integer"),
        (bool, "perhaps", "must be true or false"),
        (str, 5, "must be a string"),
        (list[int], 5, "must be a list"),
        (tuple[int, ...], 5, "must be a list"),
        (dict[str, int], 5, "must be an object"),
        (float, "x", "must be a number"),
        (Literal["a", "b"], "c", "must be 'a' or 'b'"),
        (Field(ge=1), 0, "must be at least 1"),
        (Field(le=1), 2, "must be at most 1"),
        (Field(gt=1), 1, "must be more than 1"),
        (Field(lt=1), 1, "must be less than 1"),
        (Field(min_length=1), [], "must have at least 1 item and has 0"),
        (Field(max_length=1), [1, 2], "must have at most 1 item and has 2"),
        (Field(max_length=1), "ab", "must have at most 1 character"),
    ],
)
def test_message_of_pydantic_is_in_our_words(type_: Any, value: object, words: str) -> None:
    annotated = type(type_).__name__ == "FieldInfo"
    kind: Any = Annotated[type(value), type_] if annotated else type_
    with pytest.raises(ValidationError) as error:
        TypeAdapter(kind).validate_python(value)
    assert in_our_words(error.value.errors()[0]["msg"]) == words


@pytest.mark.parametrize("own", ["a message of our own", "Input is odd"])
def test_other_messages_stay_as_they_are(own: str) -> None:
    assert in_our_words(own) == own
    assert in_our_words(f"Value error, {own}") == own


@pytest.mark.parametrize(
    ("type_", "value", "words"),
    [
        (int, "x", "must be an integer"),
        (bool, "perhaps", "must be true or false"),
        (str, 5, "must be a string"),
        (list[int], 5, "must be an array"),
        (tuple[int, ...], 5, "must be an array"),
        (dict[str, int], 5, "must be an object"),
        (float, "x", "must be a number"),
        (Literal["a", "b"], "c", "must be 'a' or 'b'"),
    ],
)
def test_message_about_json_is_in_our_words(type_: Any, value: object, words: str) -> None:
    """Pydantic has other words for the types of JSON."""
    with pytest.raises(ValidationError) as error:
        TypeAdapter(type_).validate_json(json.dumps(value))
    assert in_our_words(error.value.errors()[0]["msg"]) == words
