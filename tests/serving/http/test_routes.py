"""The names of paths in logs, metrics and access control."""

import pytest

from fansrec.serving.http.routes import OTHER, SIMILAR, STATIC, Access, access_level, route_name


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
    ],
)
def test_name_and_access_of_a_path(path: str, name: str, access: Access) -> None:
    assert (route_name(path), access_level(route_name(path))) == (name, access)
