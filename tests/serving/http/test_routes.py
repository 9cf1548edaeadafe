"""The names of paths in logs, metrics and access control."""

import pytest

from fansrec.serving.http.routes import LIST, OTHER, SIMILAR, STATIC, Access, access_level, route_name


@pytest.mark.parametrize(
    ("path", "name", "access"),
    [
        ("/v1/items", "/v1/items", Access.USE),
        ("/docs/", "/docs/", Access.OPEN),
        ("/v1/items/i7/similar", SIMILAR.path, Access.USE),
        ("/v1/items/a/b/similar", SIMILAR.path, Access.USE),
        ("/v1/items//similar", SIMILAR.path, Access.USE),
        ("/v1/items/similar", OTHER, Access.USE),
        ("/v1/items/i7", OTHER, Access.USE),
        ("/static/main.js", STATIC, Access.OPEN),
        ("/nowhere", OTHER, Access.USE),
        ("/v1/lists/p7", LIST.path, Access.WRITE),
        ("/v1/lists/a/b", LIST.path, Access.WRITE),
        ("/v1/lists/", OTHER, Access.USE),
    ],
)
def test_name_and_access_of_a_path(path: str, name: str, access: Access) -> None:
    assert (route_name(path), access_level(route_name(path))) == (name, access)


@pytest.mark.parametrize(("path", "access"), [("/v1/items", Access.WRITE), ("/v1/events", Access.USE)])
def test_access_to_a_path_depends_on_the_method(path: str, access: Access) -> None:
    assert access_level(path, "POST") == access
    assert access_level(path, "GET") == access_level(path, "TRACE") == Access.USE
