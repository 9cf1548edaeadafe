"""Ways to write a path or a method so that a door opens without a key."""

import pytest

from serving.attacks.clients import Target

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW")
PATHS = (
    "/v1/models", "/v1/continue", "/v1/items?search=a", "/v1/models/reload", "/v1/models/rollback", "/metrics",
    "/v1/models/", "/v1/models/.", "/v1/models/..", "/v1/models//", "//v1/models", "/v1//models", "///metrics",
    "/./metrics", "/v1/./models", "/x/../metrics", "/health/../metrics", "/health/live/../../v1/models",
    "/static/../metrics", "/static/../v1/models", "/static/..%2fmetrics", "/static/%2e%2e/v1/models",
    "/%2e/metrics", "/%6detrics", "/v1%2fmodels", "/v1/models%2f", "/v1/models%20", "/v1/models%00",
    "/v1/models;static", "/v1/models;.css", "/v1/models.json", "/V1/MODELS", "/Metrics", "/metrics?/static/",
    "/v1/models/reload?x=/health/live", "/%252e/metrics", "http://localhost/metrics", "http://localhost/v1/models",
    "/static/%2e%2e%2f%2e%2e%2fsettings.py", "/v1/models%0d%0aX-API-Key:%20x",
)  # fmt: skip
SECRETS = (b"fans_lists", b'"hash"', b'"changed"', b"class Settings")


def test_number_of_paths_and_methods() -> None:
    assert len({(method, path) for method in METHODS for path in PATHS}) == 360


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", PATHS)
def test_no_path_or_method_avoids_the_key(attacked: Target, path: str, method: str) -> None:
    request = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    found = attacked.send(request.encode())
    assert len(found) <= 1
    for answer in found:
        assert 400 <= answer.status < 500
        assert not any(secret in answer.body for secret in SECRETS)


@pytest.mark.parametrize(
    "header",
    ["X-HTTP-Method-Override: GET", "X-Original-URL: /health/live", "X-Rewrite-URL: /", "X-Forwarded-For: 127.0.0.1",
     "X-Forwarded-Prefix: /static", "Forwarded: for=127.0.0.1", "X-Forwarded-User: admin", "Cookie: key=admin"],
)  # fmt: skip
def test_no_header_replaces_a_key(attacked: Target, header: str) -> None:
    request = f"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n{header}\r\nConnection: close\r\n\r\n"
    [answer] = attacked.send(request.encode())
    assert answer.status == 401


def test_service_is_unharmed(target: Target) -> None:
    assert target.ask().status_code == 200


def status(target: Target, path: str, role: str, method: str = "GET") -> int:
    key = target.keys[role]  # type: ignore[index]
    return target.running.http.request(method, path, headers={"X-API-Key": key}).status_code


def test_metrics_key_reads_metrics_and_nothing_else(target: Target) -> None:
    assert status(target, "/metrics", "metrics") == 200
    for path in ("/v1/models", "/v1/items?search=a", "/nothing"):
        assert status(target, path, "metrics") == 403
    for path in ("/v1/continue", "/v1/models/reload", "/v1/models/rollback"):
        assert status(target, path, "metrics", "POST") == 403


def test_metrics_are_refused_to_plain_keys_and_open_to_admin_keys(target: Target) -> None:
    assert status(target, "/metrics", "use") == 403
    assert status(target, "/metrics", "admin") == 200
