"""Writes changes to a service until they are stored, whatever happens to the service meanwhile."""

import json
import logging
import random
import time
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, TypeVar

import fansrec
from fansrec.client import NotAllowed, Unavailable

T = TypeVar("T")

LONGEST_PAUSE_S = 30.0
LONGEST_ID = 1000  # of a list to remove: it is part of an address
BAD_VALUE = (fansrec.FansError, TypeError, ValueError, RecursionError)  # the service or the client refuses it

logger = logging.getLogger("follow")


def patiently(call: Callable[[], T]) -> T:
    """Call until the service answers. Nothing is read meanwhile: the pipe or the file keeps what arrives."""
    pause = 0.5
    while True:
        try:
            return call()  # the client has retried by itself when this raises
        except Unavailable as error:
            logger.warning("trying again: %s", error)
            time.sleep(random.uniform(pause / 2, pause))  # random, so that several writers do not come back together
            pause = min(2 * pause, LONGEST_PAUSE_S)


def takes_writes(client: fansrec.Client) -> bool:
    """Return whether the service stores writes, and has a model that can be updated."""
    found = client.models()
    return found["writes"] is not None and any(model["seq"] is not None for model in found["models"])


def store_lines(client: fansrec.Client, lines: list[bytes]) -> int:
    """Store the changes in their order, neighbors of the same kind together; return the number of the last write."""
    seq = 0
    for kind, group in groupby(_changes(lines), key=lambda change: change[0]):
        values = [value for _, value in group]
        for part in [[value] for value in values] if kind == "remove" else [values]:
            seq = max(seq, _store(client, kind, part))
    return seq


def _changes(lines: list[bytes]) -> Iterator[tuple[str, Any]]:
    """Yield the kind and the value of each change; lines that are not changes are reported."""
    for line in filter(bytes.strip, lines):
        try:
            [(kind, value)] = json.loads(line).items()
            if kind not in ("list", "item", "remove"):
                raise ValueError(f"{kind!r} is not list, item or remove")
            if kind == "remove" and not (isinstance(value, str) and len(value) <= LONGEST_ID):
                raise ValueError("it must be the id of a list")
        except (ValueError, AttributeError, RecursionError) as error:
            logger.error("left out: %.80r is not a change: %s", line, error)
        else:
            yield kind, value


def _store(client: fansrec.Client, kind: str, values: list[Any]) -> int:
    """Store values of one kind and return the number of the write, 0 if all are refused.

    If the answer of a request is lost, it is sent again: lists and items have ids, so the second time changes nothing.
    """
    try:
        return patiently(lambda: _send(client, kind, values))
    except NotAllowed:  # a wrong key: nothing would be stored
        raise
    except BAD_VALUE as error:
        if len(values) == 1:
            logger.error("left out: %.200r: %s", values[0], error)
            return 0
    # A request is stored as a whole or not at all: a value that is refused must not keep the others out.
    return max(_store(client, kind, [value]) for value in values)


def _send(client: fansrec.Client, kind: str, values: list[Any]) -> int:
    """Send one request; raise Unavailable if it was refused because of the service and not of the values."""
    writes = {"list": client.add_lists, "item": client.add_items, "remove": lambda ids: client.remove_list(*ids)}
    try:
        return writes[kind](values)
    except (NotAllowed, Unavailable):
        raise
    except BAD_VALUE as error:
        if not takes_writes(client):  # it was started again without --writes, or got a model that cannot be updated
            raise Unavailable(f"the service takes no writes at present: {error}") from error
        raise
