"""The Helm chart: what it renders, what it refuses, and whether Kubernetes would accept it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from deploy.chart import CHART, REQUIRED, WRITES, environment, helm, pod_of, render
from fansrec import __version__
from fansrec.serving.metrics import Metrics
from fansrec.serving.settings import Settings, read_settings
from skipping import skip_or_fail

DEPLOY = CHART.parents[1]
DOCKERFILE = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
VERSIONS = ("1.29.0", "1.37.0")  # the first one of kubeVersion, and a new one
IN_FULL = {
    "autoscaling": {"enabled": True},
    "networkPolicy": {"enabled": True},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "models": {"volume": {"emptyDir": {}}, "init": {"image": "models:1", "env": [{"name": "A", "value": "b"}]}},
    "image": {"digest": "sha256:" + "0" * 64},
    "imagePullSecrets": [{"name": "registry"}],
    "podLabels": {"team": "lists"},
    "podAnnotations": {"a": "b"},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "service": {"annotations": {"a": "b"}},
}
CASES: dict[str, dict[str, Any]] = {
    "default": {},
    "in full": IN_FULL,
    "writes": WRITES | {"writes": {"enabled": True, "storageClassName": "ssd"}},
}


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_helm_and_the_schemas_of_kubernetes_accept_the_chart(values: dict[str, Any]) -> None:
    done = helm("lint", "--strict", CHART, values=REQUIRED | values)
    assert done.returncode == 0 and "WARNING" not in done.stdout, done.stdout
    for kind, manifest in render(**values).items():
        if kind == "ServiceMonitor":
            continue  # of the Prometheus operator, which Kubernetes has no schema of
        for version in VERSIONS:
            kubernetes_validate.validate(manifest, version, strict=True)


def test_a_schema_finds_errors() -> None:
    manifest = render()["Deployment"]
    manifest["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerport"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(manifest, VERSIONS[-1], strict=True)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"keys": {"secret": ""}}, "keys.secret is empty"),
        ({"models": {}}, "models.volume is empty"),
        ({"models": {"volume": {"emptyDir": {}}}}, "set models.init.image"),
        ({"models": REQUIRED["models"] | {"serve": ["/other"]}}, "serve"),
        ({"writes": {"enabled": True}}, "writes.enabled needs replicas=1"),
        (WRITES | {"autoscaling": {"enabled": True}}, "autoscaling.enabled=false"),
        ({"settings": {"port": 80}}, "settings"),
        ({"settings": {"drain_s": 0}}, "drain_s"),
        ({"settings": {"workers": 0}}, "resources.limits.cpu"),
        ({"settings": {"workers": -1}}, "workers"),
        ({"replica": 3}, "replica"),
    ],
)
def test_values_that_cannot_work_are_refused(values: dict[str, Any], message: str) -> None:
    done = helm("template", "lists", CHART, values=REQUIRED | values)
    assert done.returncode != 0 and message in done.stderr


def test_pods_have_no_privileges_and_a_read_only_root() -> None:
    pod = pod_of(render(**IN_FULL))
    for container in pod["containers"] + pod["initContainers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["requests"] and "memory" in container["resources"]["limits"]
    security = pod["securityContext"]
    user, group = map(int, re.findall(r"^USER (\d+):(\d+)$", DOCKERFILE, re.M)[0])
    assert (security["runAsUser"], security["runAsGroup"], security["fsGroup"]) == (user, group, group)
    assert security["runAsNonRoot"] and security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not pod["automountServiceAccountToken"] and not pod["enableServiceLinks"]
    assert "hostNetwork" not in pod and "hostPID" not in pod


def test_settings_of_the_pod_are_those_of_the_service() -> None:
    given = {"max_unsent_bytes": 67108864, "body_timeout_s": 2.5, "allowed_hosts": ["a", "b"], "split": "fans:90,x:10"}
    values = {"settings": given, "models": REQUIRED["models"] | {"serve": ["fans=/models/a", "x=/models/b@recall"]}}
    settings = read_settings({}, None, environment(render(**values)))
    expected = given | {"allowed_hosts": ("a", "b"), "split": {"fans": 90, "x": 10}}
    assert {name: getattr(settings, name) for name in given} == expected
    assert [(one.name, str(one.run), one.generation) for one in settings.models] == [
        ("fans", "/models/a", None),
        ("x", "/models/b", "recall"),
    ]
    assert settings.worker_count == 2
    assert not settings.loopback and settings.keys == Path("/keys/fans.keys") and settings.writes is None


def test_pod_with_a_limit_of_cpu_time_may_have_as_many_workers() -> None:
    limits = {"cpu": "3", "memory": "4Gi"}
    manifests = render(settings={"workers": 0}, resources={"limits": limits})
    assert environment(manifests)["FANS_WORKERS"] == "0"
    assert pod_of(manifests)["containers"][0]["resources"]["limits"]["cpu"] == "3"


def test_names_ports_and_paths_agree_with_the_image() -> None:
    manifests = render(**CASES["writes"])
    pod, variables = pod_of(manifests), environment(manifests)
    (container,) = pod["containers"]
    assert container["image"] == f"fansrec:{__version__}" and "command" not in container
    (port,) = container["ports"]
    assert str(port["containerPort"]) == variables["FANS_PORT"] == re.findall(r"^EXPOSE (\d+)$", DOCKERFILE, re.M)[0]
    assert manifests["Service"]["spec"]["ports"][0]["targetPort"] == port["name"]
    of_image = dict(re.findall(r"\b(FANS_\w+)=(\S+)", re.findall(r"^ENV (.*)$", DOCKERFILE, re.M)[0]))
    assert {name: variables[name] for name in of_image} == of_image
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    paths = ("FANS_MODELS", "FANS_KEYS", "FANS_SEARCH_FOLDER", "FANS_WRITES")
    for path in [*(variables[name].partition("=")[2] or variables[name] for name in paths), "/tmp"]:
        assert any(Path(path).is_relative_to(mount) for mount in mounts), path
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
    claim = next(one for one in pod["volumes"] if one["name"] == "writes")["persistentVolumeClaim"]["claimName"]
    assert claim == manifests["PersistentVolumeClaim"]["metadata"]["name"]


@pytest.mark.parametrize("values", CASES.values(), ids=CASES)
def test_labels_select_the_pods(values: dict[str, Any]) -> None:
    manifests = render(**values)
    labels = manifests["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
    selectors = [
        manifests["Deployment"]["spec"]["selector"]["matchLabels"],
        manifests["Service"]["spec"]["selector"],
        manifests["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        *(one["labelSelector"]["matchLabels"] for one in pod_of(manifests)["topologySpreadConstraints"]),
    ]
    if values is IN_FULL:
        selectors += [manifests["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"]]
        assert manifests["ServiceMonitor"]["spec"]["selector"]["matchLabels"].items() <= (
            manifests["Service"]["metadata"]["labels"].items()
        )
    assert all(selector and selector.items() <= labels for selector in selectors)


@pytest.mark.parametrize(("notice", "drain"), [(10, 30), (1, 600), (2.5, 0.1)])
def test_a_pod_is_killed_only_after_its_service_had_time_to_stop(notice: float, drain: float) -> None:
    manifests = render(settings={"notice_s": notice, "drain_s": drain})
    assert pod_of(manifests)["terminationGracePeriodSeconds"] >= notice + drain + 10
    assert "lifecycle" not in pod_of(manifests)["containers"][0]


def test_one_pod_at_a_time_has_the_log_of_writes() -> None:
    spec = render(**WRITES)["Deployment"]["spec"]
    assert spec["replicas"] == 1 and spec["strategy"] == {"type": "Recreate"}
    assert render()["Deployment"]["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0


def rule() -> dict[str, Any]:
    (rule,) = yaml.safe_load((CHART / "prometheus-adapter.yaml").read_text())["rules"]["custom"]
    return dict(rule)


def test_the_autoscaler_uses_a_metric_that_the_adapter_makes_of_metrics_of_the_service() -> None:
    manifests = render(**IN_FULL)
    scaler = manifests["HorizontalPodAutoscaler"]["spec"]
    (metric,) = scaler["metrics"]
    assert metric["pods"]["metric"]["name"] == rule()["name"]["as"]
    assert scaler["scaleTargetRef"]["name"] == manifests["Deployment"]["metadata"]["name"]
    assert "replicas" not in manifests["Deployment"]["spec"]  # the autoscaler sets them
    (family,) = [one for one in Metrics().registry.collect() if one.name == "fans_queue_seconds"]
    used = re.findall(r"fans_\w+", rule()["metricsQuery"] + rule()["seriesQuery"])
    assert family.type == "histogram" and {*used} == {"fans_queue_seconds_sum", "fans_queue_seconds_count"}


def test_the_query_of_the_adapter_is_the_mean_time_in_the_queue(tmp_path: Path) -> None:
    promtool = shutil.which("promtool", path=f"{Path(sys.executable).parent}:/usr/bin:/usr/local/bin")
    if promtool is None:
        skip_or_fail("promtool is not installed (apt-get install prometheus)")
    query = rule()["metricsQuery"].replace("<<.GroupBy>>", "pod").replace("<<.LabelMatchers>>", 'namespace="music"')
    series = [
        ('fans_queue_seconds_sum{namespace="music",pod="busy"}', "0+3x20"),  # 100 requests of 30 ms per interval
        ('fans_queue_seconds_count{namespace="music",pod="busy"}', "0+100x20"),
        ('fans_queue_seconds_sum{namespace="music",pod="idle"}', "5x20"),
        ('fans_queue_seconds_count{namespace="music",pod="idle"}', "9x20"),
    ]
    expected = [{"labels": '{pod="busy"}', "value": 30}, {"labels": '{pod="idle"}', "value": 0}]
    case = {
        "interval": "15s",
        "input_series": [{"series": name, "values": values} for name, values in series],
        "promql_expr_test": [{"expr": f"round({query}, 0.001)", "eval_time": "4m", "exp_samples": expected}],
    }
    (tmp_path / "test.yml").write_text(yaml.safe_dump({"tests": [case]}))
    done = subprocess.run([promtool, "test", "rules", tmp_path / "test.yml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_versions_agree_and_every_value_is_described_by_the_schema() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == __version__ and VERSIONS[0] in chart["kubeVersion"]
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = yaml.safe_load((CHART / "values.schema.json").read_text())
    assert values.keys() == schema["properties"].keys() - {"global"}
    assert values["settings"].keys() <= Settings.model_fields.keys()
    assert values["settings"]["workers"] == int(values["resources"]["requests"]["cpu"])
