"""What a service is told: by flags, by FANS_* variables, by a file; a name nobody knows is an error."""

import os
import re
import sys
import tomllib
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fansrec.errors import BadInput, BadSetting
from fansrec.serving.http.hosts import is_host_name

PREFIX = "FANS_"
ELSEWHERE = {"FANS_DATA", "FANS_NATIVE", "FANS_NATIVE_FOLDER", "FANS_SANITIZED"}  # variables of other parts of fansrec
MIB = 1 << 20
PLAIN_NAME = r"^[A-Za-z0-9._-]{1,64}$"


class ModelPlace(BaseModel):
    """A model to serve: under which name, from which folder or link, answering in which way."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = Field(pattern=PLAIN_NAME)
    run: Path
    generation: str | None = None

    @staticmethod
    def of(text: str) -> "ModelPlace":
        """`NAME=RUN@GENERATION`; the name is the folder's own and the way the model's own unless given."""
        name, _, rest = text.rpartition("=")
        run, _, generation = rest.partition("@")
        if not run:
            raise BadSetting(f"{text!r} names no model folder; write RUN, NAME=RUN or NAME=RUN@autoregressive")
        name = name or Path(os.path.abspath(run)).name
        if not re.fullmatch(PLAIN_NAME, name):
            raise BadSetting(f"{name!r} is no name for a model (letters, digits, . _ -): write NAME={run}")
        return ModelPlace(name=name, run=Path(run), generation=generation or None)


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    models: tuple[ModelPlace, ...] = Field(min_length=1, description="Models to serve: NAME=RUN@GENERATION")
    host: str = Field("127.0.0.1", description="Address to listen on; beyond this machine only with keys")
    port: int = Field(8080, ge=0, le=65535, description="Port to listen on; 0: any free one")
    workers: int = Field(0, ge=0, le=256, description="Worker processes; 0: as many as cores (1 on a GPU)")
    device: str = Field("cpu", description="Where models run: cpu or cuda")
    backend: Literal["auto", "torch", "native", "cuda"] = Field("auto", description="What runs them")
    keys: Path | None = Field(None, description="File of API keys (`fans keys add FILE NAME`)")
    key_file_grace_s: float = Field(
        30, ge=0, description="Seconds without a readable key file after which every key is refused"
    )
    without_keys: bool = Field(False, description="Listen beyond this machine without any key")
    allow_origins: tuple[str, ...] = Field((), description="Origins of other pages that may call")
    allowed_hosts: tuple[str, ...] = Field((), description="Host names by which the service may be called; * for any")
    max_connections: int = Field(1024, ge=1, description="Connections held at once")
    max_header_bytes: int = Field(32768, ge=1024, description="Size of a request's headers")
    header_timeout_s: float = Field(10, gt=0, description="Seconds a client may take to send its headers")
    body_timeout_s: float = Field(30, gt=0, description="Seconds a client may take to send its body")
    write_timeout_s: float = Field(10, gt=0, description="Seconds a client may take to read the next part of an answer")
    max_unsent_bytes: int = Field(64 * MIB, ge=MIB, description="Size of all answers that clients have not read yet")
    max_body_bytes: int = Field(1 * MIB, ge=1, description="Size of a body as sent")
    max_unpacked_bytes: int = Field(2 * MIB, ge=1, description="Size of a body when decompressed")
    max_lists: int = Field(256, ge=1, description="Lists in a request")
    max_items: int = Field(2000, ge=1, description="Items in a list")
    max_k: int = Field(500, ge=1, description="Items asked for a list")
    max_answer_items: int = Field(25_600, ge=1, description="Items asked for in a request: its lists times k")
    max_rule_items: int = Field(10_000, ge=1, description="Items in exclude or allow, categories in categories")
    queue_ms: int = Field(300, ge=1, description="Longest wait for a worker that is expected of a request taken in")
    queue_requests: int = Field(1024, ge=1, description="Requests that may wait")
    queue_tokens: int = Field(262_144, ge=1, description="Items given and asked for of all that wait")
    batch_tokens: int = Field(2048, ge=1, description="Items given and asked for that a worker takes at once")
    timeout_ms: int = Field(10_000, ge=1, le=3_600_000, description="Deadline of a request that brings none")
    hang_s: float = Field(20, gt=0, description="Seconds of silence after which a worker is replaced")
    notice_s: float = Field(1, ge=0, description="Seconds between 'not ready' and closing when told to stop")
    drain_s: float = Field(30, gt=0, description="Seconds that accepted requests have when told to stop")
    search_folder: Path | None = Field(None, description="Where search indexes are kept; default: the user's cache")
    log_format: Literal["auto", "json", "text"] = Field(
        "auto", description="One JSON object a line, or text; auto: text in a terminal"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="The least that is logged")

    @model_validator(mode="before")
    @classmethod
    def _models_from_text(cls, values: Any) -> Any:
        models = values.get("models", ()) if isinstance(values, dict) else ()
        models = [models] if isinstance(models, str) else models
        if not models or not isinstance(models, list | tuple):
            return values
        return values | {"models": [ModelPlace.of(m) if isinstance(m, str) else m for m in models]}

    @model_validator(mode="after")
    def _make_sense(self) -> "Settings":
        names = [model.name for model in self.models]
        if len({*names}) < len(names):
            raise ValueError(f"two models have one name ({', '.join(names)}); write NAME=RUN")
        if "*" in self.allow_origins:
            raise ValueError("allow_origins takes single origins, such as https://lists.example.org; '*' would be all")
        if wrong := [name for name in self.allowed_hosts if not is_host_name(name)]:
            raise ValueError(
                f"allowed_hosts takes names without a port or scheme, such as fans.example.org: {wrong[0]!r}"
            )
        if not (self.loopback or self.keys or self.without_keys):
            raise ValueError(
                f"{self.host} can be reached from elsewhere: give --keys FILE (`fans keys add FILE NAME` makes one), "
                f"or --without-keys if everyone there may use it"
            )
        return self

    @property
    def loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def log_style(self) -> str:
        """json or text: programs read the one, people in a terminal the other."""
        if self.log_format != "auto":
            return self.log_format
        return "text" if sys.stderr.isatty() else "json"

    @property
    def worker_count(self) -> int:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return self.workers or (cores if self.device == "cpu" else 1)


def read_settings(flags: Mapping[str, Any], file: Path | None, environment: Mapping[str, str]) -> Settings:
    """Flags win over variables, variables over the file, all of them over what is written here."""
    given = (_from_file(file) if file else {}) | _from_environment(environment)
    try:
        return Settings.model_validate(given | {name: value for name, value in flags.items() if value is not None})
    except ValidationError as error:
        raise BadSetting("; ".join(_told(one) for one in error.errors()[:5])) from error


def _told(error: Any) -> str:
    where, what = ".".join(map(str, error["loc"])), error["msg"].removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        return f"there is no setting {where!r} (see `fans serve --help`)"
    if where == "models" and error["type"] == "missing":
        return "no model to serve; give the folder of a trained one"
    return f"{where}: {what}" if where else what


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} is no readable TOML file ({error})") from error


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Lists are parted by commas; a FANS_ variable that means nothing is most likely misspelt."""
    values: dict[str, Any] = {}
    for variable, text in environment.items():
        name = variable.removeprefix(PREFIX).lower()
        if not variable.startswith(PREFIX) or variable in ELSEWHERE:
            continue
        if name not in Settings.model_fields:
            raise BadSetting(f"the variable {variable} means nothing to `fans serve`; unset it, or see --help")
        if name in ("models", "allow_origins", "allowed_hosts"):
            values[name] = [part for part in text.split(",") if part]
        elif text:
            values[name] = text
    return values
