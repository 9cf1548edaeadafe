"""Which machines of a cluster get a service, and on which port."""

from typing import Any

import pytest

from fansrec.cluster.serving.placement import check_count, choose_nodes, choose_ports, suitable_nodes
from fansrec.errors import BadSetting


def node(name: str, alive: bool = True, **resources: float) -> dict[str, Any]:
    return {"NodeID": name, "NodeManagerAddress": f"10.0.0.{name}", "Alive": alive, "Resources": resources}


def test_services_need_a_living_machine_with_a_core_or_a_gpu() -> None:
    nodes = [node("3", CPU=8.0, GPU=1.0), node("1", CPU=4.0), node("2", alive=False, CPU=4.0), node("4", memory=9.0)]
    assert suitable_nodes(nodes, "cpu") == {"1": "10.0.0.1", "3": "10.0.0.3"}
    assert suitable_nodes(nodes, "cuda") == {"3": "10.0.0.3"}


def test_more_services_than_machines_are_refused() -> None:
    check_count(2, 2, "cpu")
    with pytest.raises(BadSetting, match="3 services need a machine each, and the cluster has 2 with a core for Ray"):
        check_count(2, 3, "cpu")
    with pytest.raises(BadSetting, match="the cluster has 0 with a GPU"):
        check_count(0, 1, "cuda")


def test_services_stay_where_they_are() -> None:
    assert choose_nodes("abc", "", 2) == ["a", "b"]
    assert choose_nodes("abc", "cb", 2) == ["c", "b"]
    assert choose_nodes("abc", "xc", 2) == ["c", "a"]  # x is lost


def test_machines_of_one_address_get_different_ports_and_keep_them() -> None:
    assert choose_ports({"a": "1.1.1.1", "b": "1.1.1.2"}, {}, 8080) == {"a": 8080, "b": 8080}
    together = {"a": "1.1.1.1", "b": "1.1.1.1", "c": "1.1.1.1"}
    assert choose_ports(together, {}, 8080) == {"a": 8080, "b": 8081, "c": 8082}
    assert choose_ports(together, {"c": 8080, "lost": 8081}, 8080) == {"a": 8081, "b": 8082, "c": 8080}
