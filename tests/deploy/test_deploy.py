"""The files in deploy/ match the code: names, paths, numbers and syntax."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import yaml
from pydantic_core import PydanticUndefined

from fansrec import __version__
from fansrec.serving.metrics import Metrics
from fansrec.serving.settings import Settings, read_settings
from skipping import skip_or_fail

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
MADE_BY_THE_USER = {"./models", "./keys", "./secrets/metrics-key", "./secrets/grafana-password"}


def read_yaml(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text())


ALERTS = [rule for group in read_yaml("prometheus/alerts.yml")["groups"] for rule in group["rules"]]
DASHBOARD = json.loads((DEPLOY / "grafana/dashboards/fans.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
COMPOSE = read_yaml("compose.yaml")
DOCKERFILE = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
DEFAULTS = {name: field.default for name, field in Settings.model_fields.items()}


def expressions() -> dict[str, str]:
    """Return every query of the alerts and the dashboard by its name."""
    queries = {rule["alert"]: rule["expr"] for rule in ALERTS}
    queries |= {f"{p['title']} {t['refId']}": t["expr"] for p in PANELS for t in p["targets"]}
    queries |= {a["name"]: a["expr"] for a in DASHBOARD["annotations"]["list"]}
    return queries | {v["name"]: v["definition"] for v in DASHBOARD["templating"]["list"]}


def exported() -> set[str]:
    endings = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"], "gauge": [""]}
    families = Metrics().registry.collect()
    return {family.name + ending for family in families for ending in endings.get(family.type, [])} | {"up"}


def test_alerts_and_dashboard_use_only_metrics_of_the_service() -> None:
    known = exported()
    for name, expression in expressions().items():
        used = set(re.findall(r"\b(?:fans_\w+|process_\w+|up\b)", expression))
        assert used and used <= known, f"{name} uses {used - known}"


def test_the_dashboard_shows_every_metric_of_the_service() -> None:
    shown = " ".join(expressions().values())
    families = {family.name for family in Metrics().registry.collect() if family.name.startswith("fans_")}
    assert not {name for name in families if name not in shown}


def test_every_alert_has_a_description_and_a_test() -> None:
    tried = (DEPLOY / "prometheus/alerts_test.yml").read_text()
    for rule in ALERTS:
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert len(rule["annotations"]["summary"]) > 20 and len(rule["annotations"]["runbook"]) > 60, rule["alert"]
        assert len(re.findall(rf"\b{rule['alert']}\b", tried)) >= 2, f"{rule['alert']} is not tried both ways"
    assert len({rule["alert"] for rule in ALERTS}) == len(ALERTS)


def test_prometheus_accepts_its_files_and_the_alerts_fire_when_they_should() -> None:
    promtool = shutil.which("promtool", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if promtool is None:
        skip_or_fail("promtool is not installed (apt-get install prometheus)")
    checks = [
        ["check", "rules", "alerts.yml"],
        ["check", "config", "--syntax-only", "prometheus.yml"],
        ["test", "rules", "alerts_test.yml"],
    ]
    for check in checks:
        done = subprocess.run([promtool, *check], cwd=DEPLOY / "prometheus", capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_panels_do_not_overlap_and_have_descriptions() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken and at["x"] + at["w"] <= 24, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
    assert all(panel["description"] for panel in PANELS)


def test_grafana_finds_its_data_source_and_dashboard() -> None:
    (source,) = read_yaml("grafana/provisioning/datasources/prometheus.yaml")["datasources"]
    (provider,) = read_yaml("grafana/provisioning/dashboards/fans.yaml")["providers"]
    assert {target["datasource"]["uid"] for panel in PANELS for target in panel["targets"]} == {source["uid"]}
    assert f"./grafana/dashboards:{provider['options']['path']}:ro" in COMPOSE["services"]["grafana"]["volumes"]
    assert source["url"] == "http://prometheus:9090"
    (scraped,) = read_yaml("prometheus/prometheus.yml")["scrape_configs"]
    assert scraped["static_configs"] == [{"targets": ["fans:8080"]}]


def test_image_is_built_from_existing_files() -> None:
    travelling = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    copied = [name for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.M) for name in line.split()[:-1]]
    assert set(copied) >= {"pyproject.toml", "hatch_build.py", "src"}
    for name in copied:
        assert (ROOT / name).exists(), name
        assert f"!{name}" in travelling, f"{name} is kept out by Dockerfile.dockerignore"
    readme = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {readme["readme"], *readme["license-files"]} <= {*copied}


def test_image_is_small_and_runs_without_privileges() -> None:
    build, image = re.split(r"^FROM .*$", DOCKERFILE, flags=re.M)[1:]
    assert "g++" in build and "-r requirements.txt" in build and "train" not in image
    assert not re.search(r"apt-get|pip ", image)
    user, group = re.findall(r"^USER (\d+):(\d+)$", image, re.M)[0]
    assert int(user) > 1000 and int(group) > 1000
    assert f'image.version="{__version__}"' in image
    assert COMPOSE["services"]["fans"]["image"] == f"fansrec:{__version__}"


def test_image_has_a_health_check() -> None:
    command = re.findall(r"^HEALTHCHECK .*CMD (\[.*\])$", DOCKERFILE, re.M)[0]
    python, flag, code = json.loads(command)
    assert (python, flag) == ("python", "-c") and "/health/ready" in code
    compile(code, "HEALTHCHECK", "exec")


def test_settings_of_the_image_are_valid_and_require_keys() -> None:
    variables = dict(re.findall(r"\b(FANS_\w+)=(\S+)", re.findall(r"^ENV (.*)$", DOCKERFILE, re.M)[0]))
    settings = read_settings({}, None, variables)
    assert settings.keys is not None and not settings.without_keys and not settings.loopback
    assert [(str(model.run), model.name) for model in settings.models] == [("/models/current", "fans")]


def test_services_are_pinned_limited_monitored_and_private() -> None:
    for name, service in COMPOSE["services"].items():
        digest = "" if "build" in service else r"@sha256:[0-9a-f]{64}"  # what is built here has none before
        assert re.fullmatch(rf"[\w./-]+:v?\d[\w.-]+{digest}", service["image"])
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
        assert {"cpus", "memory", "pids"} <= service["deploy"]["resources"]["limits"].keys()
        assert "healthcheck" in service or name == "fans"  # whose image has one
        assert service["cap_drop"] == ["ALL"]


def test_mounted_paths_exist_or_are_created_by_the_user() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    volumes = [v.split(":")[0] for service in COMPOSE["services"].values() for v in service["volumes"]]
    mounted = [v for v in volumes if v.startswith(".")] + [secret["file"] for secret in COMPOSE["secrets"].values()]
    for place in mounted:
        assert (DEPLOY / place).exists() or place in MADE_BY_THE_USER, place
    assert {v for v in volumes if not v.startswith(".")} == COMPOSE["volumes"].keys()
    assert all(place.removeprefix("./") in text.partition("services:")[0] for place in MADE_BY_THE_USER)


def test_the_example_settings_are_accepted_and_show_all_others_with_their_defaults() -> None:
    text = (DEPLOY / "fans.toml").read_text()
    read_settings({}, DEPLOY / "fans.toml", {})
    given, shown = tomllib.loads(text), tomllib.loads("\n".join(re.findall(r"^# (\w+ = .*)$", text, re.M)))
    assert given.keys() | shown.keys() == DEFAULTS.keys()
    assert {name: tuple(v) if isinstance(v, list) else v for name, v in shown.items()} == {
        name: DEFAULTS[name] for name in shown
    }


def test_stopping_leaves_time_to_answer_accepted_requests() -> None:
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "fans.service")
    needed = DEFAULTS["notice_s"] + DEFAULTS["drain_s"]
    assert int(unit["Service"]["TimeoutStopSec"]) > needed
    assert int(COMPOSE["services"]["fans"]["stop_grace_period"].removesuffix("s")) > needed
    assert unit["Service"]["ExecStart"].endswith("fans serve --config /etc/fans/fans.toml")
    assert "ProtectSystem" in unit["Service"] and unit["Service"]["User"] == "fans"


def shown(default: Any) -> str:
    """A default as the page on serving writes it: nothing where there is none."""
    return "" if default in (None, PydanticUndefined) else json.dumps(default).strip('"')


def test_the_page_on_serving_lists_every_setting_with_its_default_and_every_metric() -> None:
    text = (ROOT / "docs/reference/serving.md").read_text()
    section = text.partition("## Settings")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (?:`(.+?)`)? ?\|", section, re.M)
    assert dict(rows) == {name: shown(default) for name, default in DEFAULTS.items()}
    families = [family.name for family in Metrics().registry.collect() if family.name.startswith("fans_")]
    assert not [name for name in families if f"`{name}" not in text]


def test_links_of_the_serving_page_exist() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / "docs/reference/serving.md").read_text())
    assert links and all((ROOT / "docs" / "reference" / link).exists() for link in links)
