"""Authentication tokens: a random one for a local Ray, the user's own for the cluster at an address."""

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import grpc
from ray._private import ray_constants
from ray._raylet import AuthenticationTokenLoader, Config  # type: ignore[attr-defined]  # written in Cython
from ray.core.generated.gcs_service_pb2 import CheckAliveRequest
from ray.core.generated.gcs_service_pb2_grpc import NodeInfoGcsServiceStub

from fansrec.errors import BadSetting

MODE, TOKEN, TOKEN_PATH = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"
TOKEN_FILE = Path(".ray", "auth_token")  # in the home folder, where `ray get-auth-token --generate` writes it
TOKEN_BYTES = 32
REFUSED = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)


@contextmanager
def private_ray() -> Iterator[None]:
    """Make a Ray that is started inside the block private to this process and its children.

    Every service of Ray requires a random token and listens on the loopback interface only, and the metrics
    exporter, which does not require a token, is disabled.
    """
    changes = {
        MODE: "token",
        TOKEN: secrets.token_hex(TOKEN_BYTES),
        TOKEN_PATH: None,
        "RAY_enable_metrics_collection": "0",
        ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR: "0",  # as on macOS: no other machine can join
    }
    before = ray_constants.ENABLE_RAY_CLUSTER  # read from the variable when Ray was imported
    with _environment(changes):
        ray_constants.ENABLE_RAY_CLUSTER = False
        try:
            yield
        finally:
            ray_constants.ENABLE_RAY_CLUSTER = before


@contextmanager
def use_token(token: str | None) -> Iterator[None]:
    """Send `token` with every call to Ray inside the block; None changes nothing."""
    if token is None:
        yield
        return
    with _environment({MODE: "token", TOKEN: token, TOKEN_PATH: None}):
        yield


def required_token(channel: grpc.Channel, address: str, seconds: float) -> str | None:
    """Return the user's token if the cluster accepts it, None if it does not require one.

    The token is sent only to a cluster that requires one.
    """
    if _is_accepted(channel, None, seconds):
        return None
    token = None if os.environ.get(MODE) == "disabled" else user_token()
    if token is None:
        disabled = f" and unset {MODE}, which is disabled" if os.environ.get(MODE) == "disabled" else ""
        raise BadSetting(
            f"the cluster at {address} requires a token and none was given; set {TOKEN} or {TOKEN_PATH}, or copy the "
            f"token file of the cluster to ~/{TOKEN_FILE}{disabled}"
        )
    if not _is_accepted(channel, token, seconds):
        raise BadSetting(
            f"the cluster at {address} refuses the token from {_source()}; use the token that the cluster was started "
            "with (`ray get-auth-token` prints it there)"
        )
    return token


def user_token() -> str | None:
    """Return the user's token, read from where Ray itself looks for it, or None if there is none."""
    if token := os.environ.get(TOKEN):
        return _checked(token)
    file = Path(os.environ.get(TOKEN_PATH) or Path.home() / TOKEN_FILE)
    try:
        return _checked(file.read_text(errors="replace"))
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not os.environ.get(TOKEN_PATH):
            return None
        raise BadSetting(f"the token in {_source()} cannot be read ({error.strerror}); correct the path") from error


def _checked(text: str) -> str | None:
    token = text.strip()
    if not (token.isascii() and token.isprintable()):
        raise BadSetting(f"the token in {_source()} is not a line of ASCII characters; create it again")
    return token or None


def _source() -> str:
    """Return where the user's token comes from, for messages: the token itself must not be printed."""
    if os.environ.get(TOKEN):
        return TOKEN
    return os.environ.get(TOKEN_PATH) or f"~/{TOKEN_FILE}"


def _is_accepted(channel: grpc.Channel, token: str | None, seconds: float) -> bool:
    metadata = [("authorization", f"Bearer {token}")] if token else []
    try:
        NodeInfoGcsServiceStub(channel).CheckAlive(CheckAliveRequest(), timeout=seconds, metadata=metadata)
    except grpc.RpcError as error:
        if error.code() in REFUSED:
            return False
        raise
    return True


@contextmanager
def _environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    """Set the variables (None: remove) inside the block, for Ray's C++ part as well, and restore them after it."""
    before = {name: os.environ.get(name) for name in changes}
    _set(changes)
    try:
        yield
    finally:
        _set(before)


def _set(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    # The mode first: a Ray thread that is shutting down aborts the process if it sees the mode without a token.
    Config.initialize("")
    AuthenticationTokenLoader.instance().reset_cache()
