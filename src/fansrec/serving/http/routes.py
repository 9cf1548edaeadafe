"""The routes of the service: path, methods and access level of each, declared once."""

from dataclasses import dataclass
from enum import Enum


class Access(Enum):
    OPEN = 0  # for everyone: the page's files and health checks
    USE = 1  # a key, where the service has keys
    WRITE = 2  # a write or admin key, always
    METRICS = 3  # a metrics or admin key, where the service has keys
    ADMIN = 4  # an admin key, always


@dataclass(frozen=True)
class Route:
    path: str
    access: Access
    methods: tuple[str, ...] = ("GET",)


PAGE = Route("/", Access.OPEN, ("GET", "HEAD"))
DOCS = Route("/docs", Access.OPEN, ("GET", "HEAD"))
DOCS_WITH_SLASH = Route("/docs/", DOCS.access, DOCS.methods)  # as people type it
LIVE = Route("/health/live", Access.OPEN)
READY = Route("/health/ready", Access.OPEN)
OPENAPI = Route("/openapi.json", Access.OPEN)
METRICS = Route("/metrics", Access.METRICS)
CONTINUE = Route("/v1/continue", Access.USE, ("POST",))  # the only one that is refused at overload
ITEMS = Route("/v1/items", Access.USE)
SIMILAR = Route("/v1/items/{id}/similar", Access.USE)  # the id may contain slashes
MODELS = Route("/v1/models", Access.USE)
EVENTS = Route("/v1/events", Access.USE, ("POST",))  # apps and browsers report with the key they have
LISTS = Route("/v1/lists", Access.WRITE, ("POST",))
LIST = Route("/v1/lists/{id}", Access.WRITE, ("DELETE",))  # the id may contain slashes
NEW_ITEMS = Route("/v1/items", Access.WRITE, ("POST",))
RELOAD = Route("/v1/models/reload", Access.ADMIN, ("POST",))
ROLLBACK = Route("/v1/models/rollback", Access.ADMIN, ("POST",))

ALL_ROUTES = (
    PAGE, DOCS, DOCS_WITH_SLASH, LIVE, READY, OPENAPI, METRICS, CONTINUE, ITEMS, SIMILAR, MODELS, RELOAD, ROLLBACK,
    EVENTS, LISTS, LIST, NEW_ITEMS,
)  # fmt: skip
ROUTES = {route.path: route for route in reversed(ALL_ROUTES)}  # of two with one path, the first
ACCESS = {(route.path, method): route.access for route in ALL_ROUTES for method in route.methods}
STATIC, OTHER = "/static/*", "other"
WITH_IDS = (SIMILAR.path, LIST.path)  # an id may have any characters, also NUL, as in bodies
METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


def route_name(path: str) -> str:
    """Return the name of a path in logs and metrics: of an unknown path OTHER, so that clients cannot create labels."""
    if path in ROUTES:
        return path
    if is_similar(path):
        return SIMILAR.path
    if is_list(path):
        return LIST.path
    return STATIC if path.startswith("/static/") else OTHER


def access_level(name: str, method: str = "GET") -> Access:
    """Return the access level of a `route_name`; an unknown path needs a key, like most of the service."""
    if name == STATIC:
        return Access.OPEN
    if (name, method) in ACCESS:
        return ACCESS[name, method]
    return ROUTES[name].access if name in ROUTES else Access.USE


def is_list(path: str) -> bool:
    """Return whether a path is that of a list, whatever characters its id has."""
    return path.startswith(before := LIST.path.removesuffix("{id}")) and len(path) > len(before)


def is_similar(path: str) -> bool:
    """Return whether a path is that of the items that are similar to one, whatever characters the id has."""
    before, _, after = SIMILAR.path.partition("{id}")
    return path.startswith(before) and path.endswith(after) and len(path) >= len(before) + len(after)


def is_continue(path: str, method: str) -> bool:
    """Return whether a request continues lists: the route that goes around the framework and is refused at overload."""
    return path == CONTINUE.path and method in CONTINUE.methods
