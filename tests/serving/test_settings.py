from pathlib import Path

import pytest

from fansrec.errors import BadInput, BadSetting
from fansrec.serving.settings import ModelSpec, Settings, read_settings


def settings(**flags: object) -> Settings:
    return read_settings({"models": ["runs/mine"]} | flags, None, {})


def test_flags_override_variables_and_variables_override_the_file(tmp_path: Path) -> None:
    file = tmp_path / "fans.toml"
    file.write_text('models = ["a"]\nport = 1\nmax_k = 2\nmax_lists = 3\n')
    read = read_settings({"port": 7}, file, {"FANS_PORT": "5", "FANS_MAX_K": "6"})
    assert (read.port, read.max_k, read.max_lists) == (7, 6, 3)


def test_unknown_flag_variable_or_line_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "fans.toml"
    file.write_text('models = ["a"]\nprot = 1\n')
    with pytest.raises(BadSetting, match="'prot'"):
        read_settings({}, file, {})
    with pytest.raises(BadSetting, match="FANS_PROT"):
        read_settings({"models": ["a"]}, None, {"FANS_PROT": "1"})
    with pytest.raises(BadSetting, match="'prot'"):
        settings(prot=1)


def test_variables_of_other_parts_of_fansrec_are_ignored() -> None:
    assert read_settings({"models": ["a"]}, None, {"FANS_DATA": "/d", "FANS_NATIVE": "off", "HOME": "/"}).port == 8080


def test_lists_in_variables_are_separated_by_commas() -> None:
    read = read_settings({}, None, {"FANS_MODELS": "a,ease=b", "FANS_ALLOW_ORIGINS": "http://x"})
    assert [spec.name for spec in read.models] == ["a", "ease"]
    assert read.allow_origins == ("http://x",)


def test_model_spec_has_name_run_and_generation_mode() -> None:
    assert ModelSpec.parse("runs/mine") == ModelSpec(name="mine", run=Path("runs/mine"))
    slow = ModelSpec.parse("slow=runs/mine@autoregressive")
    assert (slow.name, slow.run, slow.generation) == ("slow", Path("runs/mine"), "autoregressive")
    with pytest.raises(BadSetting, match="write NAME=my runs/a b"):
        ModelSpec.parse("my runs/a b")
    with pytest.raises(BadSetting, match="does not name a model folder"):
        ModelSpec.parse("slow=")


@pytest.mark.parametrize("name", ["a b", "<b>", "", "x" * 65])
def test_invalid_model_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError):
        ModelSpec(name=name, run=Path("a"))


def test_models_are_a_string_or_a_list_of_strings() -> None:
    assert settings(models="runs/mine").models == settings(models=["runs/mine"]).models
    for bad in (5, [5], {"a": 1}):
        with pytest.raises(BadSetting, match="models"):
            settings(models=bad)


def test_duplicate_names_and_missing_models_are_refused() -> None:
    with pytest.raises(BadSetting, match="same name"):
        settings(models=["runs/mine", "old/mine"])
    with pytest.raises(BadSetting, match="no model to serve"):
        read_settings({}, None, {})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "::1", "[::1]"])
def test_loopback_needs_no_key(host: str) -> None:
    assert settings(host=host).loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", "localhost.example.org"])
def test_other_addresses_need_keys_or_without_keys(host: str, tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="keys"):
        settings(host=host)
    assert settings(host=host, keys=tmp_path / "keys").keys
    assert settings(host=host, without_keys=True).without_keys


@pytest.mark.parametrize(
    "bad", [{"allow_origins": ["*"]}, {"port": 70000}, {"max_k": 0}, {"timeout_ms": "soon"}, {"log_format": "xml"}]
)
def test_invalid_values_are_refused_by_name(bad: dict[str, object]) -> None:
    with pytest.raises(BadSetting, match=next(iter(bad))):
        settings(**bad)


def test_file_that_is_not_toml_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("port: 1")
    with pytest.raises(BadInput, match="not a readable TOML"):
        read_settings({}, tmp_path / "x", {})


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"port": 70000}, "--port is 70000; it must be at most 65535"),
        ({"port": "http"}, "--port is 'http'; it must be an integer"),
        ({"backend": "gpu"}, "--backend is 'gpu'; it must be 'auto', 'torch', 'native' or 'cuda'"),
        ({"max_k": 0}, "--max-k is 0; it must be at least 1"),
        ({"hang_s": 0}, "--hang-s is 0; it must be more than 0"),
    ],
)
def test_invalid_value_is_named_as_it_was_given(bad: dict[str, object], message: str) -> None:
    with pytest.raises(BadSetting) as error:
        settings(**bad)
    assert error.value.on_command_line == message


def test_invalid_value_of_a_variable_or_a_file_is_named_as_it_was_given(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="FANS_PORT is 'x'; it must be an integer"):
        read_settings({"models": ["m=run"]}, None, {"FANS_PORT": "x"})
    (tmp_path / "settings.toml").write_text("port = 1.5")
    with pytest.raises(BadSetting, match="^port is 1.5; it must be an integer"):
        read_settings({"models": ["m=run"]}, tmp_path / "settings.toml", {})


def test_missing_settings_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no file .*settings.toml; correct config"):
        read_settings({}, tmp_path / "settings.toml", {})


def test_default_is_a_worker_per_usable_core_and_one_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fansrec.serving.settings.usable_cores", lambda: 3)
    counts = [
        read_settings({"models": ["a"], **given}, None, {}).worker_count
        for given in ({}, {"workers": 5}, {"device": "cuda"})
    ]
    assert counts == [3, 5, 1]
