"""Pages elsewhere that try to use a browser's way to the service: by names, by kinds of content, by origins."""

import pytest

from fansrec.serving.app import _hosts
from fansrec.serving.http.hosts import Hosts
from fansrec.serving.http.problems import Problem
from fansrec.serving.settings import Settings
from serving.attacks.clients import BODY, Target, kind

FOREIGN_HOSTS = (
    "evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example",
    "fans.example.evil.example",
    "evilfans.example", "fans.example@evil.example", "127.0.0.1@evil.example", "localhost:80@evil.example",
    "fans.example,evil.example", "fans.example evil.example", "evil:127.0.0.1", "localhost:x", "localhost:123456",
    "localhost:", "", " ", "127.0.0.1.", "0177.0.0.1", "2130706433", "192.168.0.1", "[::2]", "[::1].evil.example",
    "[::ffff:127.0.0.1]",
)  # fmt: skip
KINDS = (
    None, "", "text/plain", "text/plain; application/json", "application/x-www-form-urlencoded", "text/json",
    "multipart/form-data; boundary=x", "application/jsonp", "application/json-patch+json", "application",
    "*/*", "application/json, text/plain", "text/plain, application/json",
)  # fmt: skip
ORIGINS = (
    "https://evil.example", "http://evil.example", "null", "http://localhost", "http://localhost:3000",
    "http://127.0.0.1", "file://", "https://fans.example", "http://fans.example.evil.example", "*", "",
    "chrome-extension://abc", "http://[::1]",
)  # fmt: skip


def test_number_of_host_names() -> None:
    assert len({*FOREIGN_HOSTS}) == 24 and len({*KINDS}) + len({*ORIGINS}) == 26


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
@pytest.mark.parametrize("path", ["/", "/v1/models"])
def test_foreign_host_name_is_refused(attacked: Target, host: str, path: str) -> None:
    key = f"X-API-Key: {attacked.keys['use']}"
    [answer] = attacked.send(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{key}\r\nConnection: close\r\n\r\n".encode())
    assert (answer.status, kind(answer)) == (421, "wrong-host")


@pytest.mark.parametrize("host", ["fans.example", "FANS.example:8080", "localhost", "127.0.0.1:1", "[::1]:80"])
def test_own_host_names_are_accepted(attacked: Target, host: str) -> None:
    [answer] = attacked.send(f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert answer.status == 200


@pytest.mark.parametrize("content_type", KINDS)
def test_content_types_of_forms_are_refused(attacked: Target, content_type: str | None) -> None:
    headers = attacked.headers | ({} if content_type is None else {"Content-Type": content_type})
    refused = attacked.running.http.post("/v1/continue", content=BODY, headers=headers)
    assert refused.status_code == 415


@pytest.mark.parametrize("origin", ORIGINS)
def test_other_origins_are_not_allowed(attacked: Target, origin: str) -> None:
    asking = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    preflight = attacked.running.http.options("/v1/continue", headers=asking)
    plain = attacked.running.http.get("/v1/models", headers=attacked.headers | {"Origin": origin})
    assert preflight.status_code == 401 and plain.status_code == 200
    for answer in (preflight, plain):
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_service_is_unharmed(target: Target) -> None:
    assert target.ask().status_code == 200


def answers_to(hosts: Hosts | None, name: str) -> bool:
    try:
        if hosts is not None:
            hosts.check([name.encode()])
    except Problem:
        return False
    return True


@pytest.mark.parametrize(
    ("settings", "accepted", "refused"),
    [
        ({}, ["localhost", "127.0.0.1:8080"], ["evil.example", "192.168.0.7"]),
        ({"allowed_hosts": ["fans.lan"]}, ["localhost", "Fans.LAN:80"], ["evil.example", "192.168.0.7"]),
        ({"host": "0.0.0.0", "without_keys": True}, ["localhost", "192.168.0.7:80", "[fe80::1]"], ["evil.example"]),
        ({"host": "fans.lan", "without_keys": True}, ["fans.lan:8080", "10.0.0.1"], ["evil.example", "x.fans.lan"]),
        ({"host": "0.0.0.0", "without_keys": True, "allowed_hosts": ["*"]}, ["evil.example", "localhost"], []),
        ({"host": "0.0.0.0", "keys": "k"}, ["evil.example", "10.0.0.1"], []),
        (
            {"host": "0.0.0.0", "keys": "k", "allowed_hosts": ["a.lan"]},
            ["a.lan", "10.0.0.1"],
            ["evil.example", "b.lan"],
        ),
    ],
)
def test_accepted_host_names_depend_on_the_listening_address(
    settings: dict[str, object], accepted: list[str], refused: list[str]
) -> None:
    hosts = _hosts(Settings.model_validate({"models": ["m"]} | settings))
    assert all(answers_to(hosts, name) for name in accepted)
    assert not any(answers_to(hosts, name) for name in refused)


@pytest.mark.parametrize("name", ["http://a.example", "a.example:80", "a b", "", "a/b", "*.example"])
def test_invalid_host_name_is_not_a_setting(name: str) -> None:
    with pytest.raises(ValueError, match="allowed_hosts takes names"):
        Settings.model_validate({"models": ["m"], "allowed_hosts": [name]})
