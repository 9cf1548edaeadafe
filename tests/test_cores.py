"""The number of cores that a process may use, in containers and outside of them."""

import os
from pathlib import Path

import pytest

from fansrec.cores import usable_cores

VERSION_1 = "9:name=systemd:/\n3:cpuset:/docker/1f\n2:cpu,cpuacct:/docker/1f\n"
VERSION_2 = "0::/"


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {*range(8)})


def machine(root: Path, groups: str, files: dict[str, str]) -> Path:
    """Write /proc/self/cgroup and these files of /sys/fs/cgroup, and return the folder that contains /proc."""
    for path, text in {"proc/self/cgroup": groups, **{f"sys/fs/cgroup/{path}": files[path] for path in files}}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.mark.parametrize(
    ("quota", "cores"),
    [("200000 100000", 2), ("250000 100000", 3), ("10000 100000", 1), ("1600000 100000", 8), ("max 100000", 8)],
)
def test_quota_is_rounded_up_and_at_most_the_cores_of_the_affinity_mask(tmp_path: Path, quota: str, cores: int) -> None:
    assert usable_cores(machine(tmp_path, VERSION_2, {"cpu.max": f"{quota}\n"})) == cores


@pytest.mark.parametrize(("quota", "cores"), [("150000", 2), ("-1", 8)])
@pytest.mark.parametrize(  # as a container sees it, and as its host; with and without a link to the mounted folder
    "folder", ["cpu", "cpu/docker/1f", "cpu,cpuacct", "cpu,cpuacct/docker/1f"]
)
def test_quota_of_version_1(tmp_path: Path, folder: str, quota: str, cores: int) -> None:
    files = {f"{folder}/cpu.cfs_quota_us": f"{quota}\n", f"{folder}/cpu.cfs_period_us": "100000\n"}
    assert usable_cores(machine(tmp_path, VERSION_1, files)) == cores


def test_smallest_quota_of_the_groups_around_a_process_applies(tmp_path: Path) -> None:
    files = {"a.slice/cpu.max": "300000 100000", "a.slice/b.service/cpu.max": "500000 100000", "c/cpu.max": "1000 1000"}
    assert usable_cores(machine(tmp_path, "0::/a.slice/b.service", files)) == 3


def test_quota_of_another_group_does_not_apply(tmp_path: Path) -> None:
    assert usable_cores(machine(tmp_path, VERSION_1, {"cpuset/docker/1f/cpu.max": "1000 1000"})) == 8


def test_incomplete_lines_are_skipped(tmp_path: Path) -> None:
    groups = f"\n0\n1:cpu\n{VERSION_2}\nunknown"
    assert usable_cores(machine(tmp_path, groups, {"cpu.max": "200000 100000"})) == 2


def test_machine_without_control_groups_has_the_cores_of_the_affinity_mask(tmp_path: Path) -> None:
    assert usable_cores(tmp_path) == 8


def test_system_without_affinity_masks_has_all_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert usable_cores(tmp_path) == 6
