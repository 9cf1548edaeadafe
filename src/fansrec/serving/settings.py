"""The settings of a service: from flags, FANS_* variables and a file; an unknown name is an error."""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from fansrec.cores import usable_cores
from fansrec.errors import BadSetting
from fansrec.files import read_toml
from fansrec.serving.http.hosts import is_host_name, parse_address
from fansrec.serving.split import parse_split
from fansrec.validation_messages import in_our_words

PREFIX = "FANS_"
OTHER_VARIABLES = {"FANS_DATA", "FANS_NATIVE", "FANS_NATIVE_FOLDER", "FANS_SANITIZED"}  # of other parts of fansrec
MIB = 1 << 20
PLAIN_NAME = r"^[A-Za-z0-9._-]{1,64}$"
Share = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class ModelSpec(BaseModel):
    """A model to serve: its name, its folder (or a link to it), and its generation mode."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str = Field(pattern=PLAIN_NAME)
    run: Path
    generation: str | None = None

    @staticmethod
    def parse(text: str) -> "ModelSpec":
        """Parse `NAME=RUN@GENERATION`; the defaults are the name of the folder and the model's own generation mode."""
        name, _, rest = text.rpartition("=")
        run, _, generation = rest.partition("@")
        if not run:
            raise BadSetting(f"{text!r} does not name a model folder; write RUN, NAME=RUN or NAME=RUN@autoregressive")
        name = name or Path(os.path.abspath(run)).name
        if not re.fullmatch(PLAIN_NAME, name):
            raise BadSetting(f"{name!r} is not a valid model name (use letters, digits, . _ -); write NAME={run}")
        return ModelSpec(name=name, run=Path(run), generation=generation or None)


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    models: tuple[ModelSpec, ...] = Field(min_length=1, description="Models to serve: NAME=RUN@GENERATION")
    split: dict[str, Share] = Field(
        {}, description="Shares of the models in requests that name none but have a `client`: a:90,b:10"
    )
    split_salt: str = Field("", max_length=64, description="Another salt assigns the clients of a split again")
    writes: Path | None = Field(None, description="Folder of what clients write; only with it, writes are accepted")
    host: str = Field("127.0.0.1", description="Address to listen on; other than loopback only with keys")
    port: int = Field(8080, ge=0, le=65535, description="Port to listen on; 0: any free port")
    workers: int = Field(0, ge=0, le=256, description="Worker processes; 0: one per usable core (1 on a GPU)")
    device: str = Field("cpu", description="Device of the models: cpu or cuda")
    backend: Literal["auto", "torch", "native", "cuda"] = Field("auto", description="Backend of the models")
    keys: Path | None = Field(None, description="File of API keys (`fans keys add FILE NAME`)")
    key_file_grace_s: float = Field(30, ge=0, description="Seconds without a readable key file until keys are refused")
    without_keys: bool = Field(False, description="Listen on other addresses than loopback without keys")
    allow_origins: tuple[str, ...] = Field((), description="Origins of other pages that may call the service")
    allowed_hosts: tuple[str, ...] = Field((), description="Host names that the service answers to; * for any")
    max_connections: int = Field(1024, ge=1, description="Maximum number of open connections")
    max_header_bytes: int = Field(32768, ge=1024, description="Maximum size of the headers of a request")
    header_timeout_s: float = Field(10, gt=0, description="Seconds within which a client must send its headers")
    body_timeout_s: float = Field(30, gt=0, description="Seconds within which a client must send its body")
    write_timeout_s: float = Field(10, gt=0, description="Seconds within which a client must read a part of an answer")
    max_unsent_bytes: int = Field(64 * MIB, ge=MIB, description="Maximum size of answers that clients have not read")
    max_body_bytes: int = Field(1 * MIB, ge=1, description="Maximum size of a body as sent")
    max_unpacked_bytes: int = Field(2 * MIB, ge=1, description="Maximum size of a decompressed body")
    max_lists: int = Field(256, ge=1, description="Maximum number of lists in a request")
    max_items: int = Field(2000, ge=1, description="Maximum number of items in a list")
    max_k: int = Field(500, ge=1, description="Maximum number of items requested per list")
    max_answer_items: int = Field(25_600, ge=1, description="Maximum number of items requested at once: lists times k")
    max_rule_items: int = Field(10_000, ge=1, description="Maximum number of entries in exclude, allow or categories")
    max_events: int = Field(1000, ge=1, description="Maximum number of events in a request")
    max_events_per_s: float = Field(10_000, gt=0, description="Maximum number of events in a second")
    events_bytes: int = Field(1024 * MIB, ge=MIB, description="Size of the stored events; then the oldest are removed")
    max_changes: int = Field(1000, ge=1, description="Maximum number of lists or items in a request that writes them")
    max_changes_per_s: float = Field(10_000, gt=0, description="Maximum number of lists and items written in a second")
    writes_bytes: int = Field(256 * MIB, ge=MIB, description="Size of the log of writes; then writes are refused")
    queue_ms: int = Field(300, ge=1, description="Time in the queue that is overload if it lasts for half a second")
    queue_requests: int = Field(1024, ge=1, description="Maximum number of requests in the queue")
    queue_tokens: int = Field(262_144, ge=1, description="Maximum tokens (items given and requested) in the queue")
    batch_tokens: int = Field(2048, ge=1, description="Maximum tokens (items given and requested) in a batch")
    timeout_ms: int = Field(10_000, ge=1, le=3_600_000, description="Deadline of a request that sets none")
    hang_s: float = Field(20, gt=0, description="Seconds without a sign of life after which a process is replaced")
    notice_s: float = Field(1, ge=0, description="Seconds between 'not ready' and closing when the service stops")
    drain_s: float = Field(30, gt=0, description="Seconds that accepted requests have when the service stops")
    search_folder: Path | None = Field(None, description="Folder of the search indexes; default: in the user's cache")
    log_format: Literal["auto", "json", "text"] = Field("auto", description="JSON or text; auto: text in a terminal")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Lowest level that is logged")

    @model_validator(mode="before")
    @classmethod
    def _models_from_text(cls, values: Any) -> Any:
        models = values.get("models", ()) if isinstance(values, dict) else ()
        models = [models] if isinstance(models, str) else models
        if not models or not isinstance(models, list | tuple):
            return values
        return values | {"models": [ModelSpec.parse(m) if isinstance(m, str) else m for m in models]}

    @field_validator("split", mode="before")
    @classmethod
    def _split_from_text(cls, value: Any) -> Any:
        return parse_split(value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check_consistency(self) -> "Settings":
        names = [model.name for model in self.models]
        if len({*names}) < len(names):
            raise ValueError(f"two models have the same name ({', '.join(names)}); write NAME=RUN")
        if unknown := [name for name in self.split if name not in names]:
            raise ValueError(
                f"--split names {unknown[0]!r:.80}, which is not served; the models are {', '.join(names)}"
            )
        if "*" in self.allow_origins:
            raise ValueError("allow_origins takes single origins, such as https://lists.example.org, and not '*'")
        if invalid := [name for name in self.allowed_hosts if not is_host_name(name)]:
            raise ValueError(
                f"allowed_hosts takes names without a port or scheme, such as fans.example.org: {invalid[0]!r}"
            )
        if not (self.loopback or self.keys or self.without_keys):
            raise ValueError(
                f"{self.host} can be reached from other machines: give --keys FILE (`fans keys add FILE NAME` creates "
                f"one), or --without-keys if everyone who reaches it may use it"
            )
        return self

    @property
    def loopback(self) -> bool:
        address = parse_address(self.host)
        return self.host == "localhost" or (address is not None and address.is_loopback)

    @property
    def log_style(self) -> str:
        """json for programs, or text for people in a terminal."""
        if self.log_format != "auto":
            return self.log_format
        return "text" if sys.stderr.isatty() else "json"

    @property
    def worker_count(self) -> int:
        return self.workers or (usable_cores() if self.device == "cpu" else 1)


def read_settings(flags: Mapping[str, Any], file: Path | None, environment: Mapping[str, str]) -> Settings:
    """Return the settings: flags override variables, variables override the file, the file overrides defaults."""
    given = (read_toml(file) if file else {}) | _from_environment(environment)
    try:
        return Settings.model_validate(given | {name: value for name, value in flags.items() if value is not None})
    except ValidationError as error:
        raise BadSetting("; ".join(_format_error(one, flags, environment) for one in error.errors()[:5])) from error


def _format_error(error: Any, flags: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """Return the message for one of pydantic's errors; it names a setting as the user gave it."""
    where, message = ".".join(map(str, error["loc"][:1])), in_our_words(error["msg"])
    if error["type"] == "extra_forbidden":
        return f"there is no setting {where!r}; see `fans serve --help`"
    if where == "models" and error["type"] == "missing":
        return "there is no model to serve; give the folder of a trained model"
    variable = f"{PREFIX}{where.upper()}"
    name = f"--{where.replace('_', '-')}" if where in flags else variable if variable in environment else where
    return f"{name} is {error['input']!r:.80}; it {message}" if where else message


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings in FANS_ variables, with commas between the values of a list; refuse unknown variables."""
    values: dict[str, Any] = {}
    for variable, text in environment.items():
        name = variable.removeprefix(PREFIX).lower()
        if not variable.startswith(PREFIX) or variable in OTHER_VARIABLES:
            continue
        if name not in Settings.model_fields:
            raise BadSetting(f"the variable {variable} is not a setting of `fans serve`; unset it, or see --help")
        if name in ("models", "allow_origins", "allowed_hosts"):
            values[name] = [part for part in text.split(",") if part]
        elif text:
            values[name] = text
    return values
