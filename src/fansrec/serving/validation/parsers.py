"""The parsers of all routes whose requests have a body."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import ValidationError

from fansrec.errors import FansError
from fansrec.serving.continue_request import ContinueFields, parse_continue
from fansrec.serving.events.requests import EventFields, events_type, parse_events
from fansrec.serving.http.problems import invalid_request, problem_of
from fansrec.serving.processes.jobs import CONTINUE
from fansrec.serving.requests import request_type
from fansrec.serving.settings import Settings
from fansrec.serving.writes.requests import WriteFields, items_type, lists_type, parse_items, parse_lists

LISTS, ITEMS, EVENTS = "lists", "items", "events"
Fields = ContinueFields | WriteFields | EventFields

# Bytes of a body whose validation may take a few milliseconds, in which the event loop does nothing else.
LARGE_CONTINUE = 64 * 1024
LARGE_WRITE = 16 * 1024


@dataclass(frozen=True)
class Parser:
    """Parses the bodies of a route."""

    parse: Callable[[bytes], Any]  # raises a Problem, a ValidationError or a FansError
    fields: Callable[..., Fields]
    large: int  # size in bytes above which a body is parsed in another process

    def __call__(self, body: bytes) -> Any:
        """Return the fields of a request; raise a Problem if it is not valid."""
        try:
            return self.parse(body)
        except ValidationError as error:
            raise invalid_request(error) from None
        except FansError as error:
            raise problem_of(error) from None


def make_parsers(settings: Settings) -> Mapping[str, Parser]:
    """Return the parsers with the limits of a service."""
    parse = partial(parse_continue, request_type(settings), settings.max_answer_items)
    return {
        CONTINUE: Parser(parse, ContinueFields, LARGE_CONTINUE),
        LISTS: Parser(partial(parse_lists, lists_type(settings)), WriteFields, LARGE_WRITE),
        ITEMS: Parser(partial(parse_items, items_type(settings)), WriteFields, LARGE_WRITE),
        EVENTS: Parser(partial(parse_events, events_type(settings)), EventFields, LARGE_WRITE),
    }
