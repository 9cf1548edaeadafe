"""Kill and stop services behind HAProxy under load: no request may fail.

    python -m benchmarks.reliability.balancer

Two services behind deploy/haproxy/haproxy.cfg, of which only addresses and the lines that need root are changed. In
turn, one of them is killed (SIGKILL of the front process) or stopped (SIGTERM), and started again. The program
`haproxy` has to be installed (`make programs`).
"""

import argparse
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

from benchmarks.reliability.load import Load
from benchmarks.reliability.load_process import run_load, start_load
from benchmarks.reliability.models import make_model, make_requests, size_of
from benchmarks.reliability.report import Report, argument_parser, run
from benchmarks.reliability.service import Service, free_port

CONFIGURATION = Path(__file__).resolve().parents[2] / "deploy" / "haproxy" / "haproxy.cfg"
NAMES = ("one", "two")
CLIENTS = 8
READY = 120.0  # seconds for HAProxy to notice that services are ready


class Balancer:
    """A running HAProxy."""

    def __init__(self, port: int, stats: int) -> None:
        self.port, self._stats = port, stats

    def metric(self, name: str, server: str, labels: str = "") -> float:
        """Return a metric of a server of the backend `reads`."""
        connection = HTTPConnection("127.0.0.1", self._stats, timeout=10)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        sample = re.escape(f'haproxy_server_{name}{{proxy="reads",server="{server}"{labels}}}')
        return float(re.findall(rf"^{sample} (\S+)$", text, re.M)[0])

    def is_up(self, server: str) -> bool:
        """Return whether a server gets requests."""
        return self.metric("status", server, ',state="UP"') == 1

    def is_checked(self, server: str) -> bool:
        """Return whether the last health check has succeeded; servers are up before their first one."""
        return self.metric("check_code", server) == 200

    def repeated(self) -> float:
        """Return how often a request was sent again."""
        kinds = ("retry_warnings_total", "redispatch_warnings_total")
        return sum(self.metric(kind, name) for kind in kinds for name in NAMES)

    def wait_until(self, server: str, up: bool) -> float:
        """Wait until a server is up, or is not, and return the seconds that took."""
        began = time.monotonic()
        while self.is_up(server) != up or (up and not self.is_checked(server)):
            if time.monotonic() - began > READY:
                raise RuntimeError(f"HAProxy does not see that service {server} is {'up' if up else 'down'}")
            time.sleep(0.02)
        return time.monotonic() - began


@contextmanager
def balancer(ports: dict[str, int], folder: Path) -> Iterator[Balancer]:
    program = shutil.which("haproxy", path=f"{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/usr/local/sbin")
    if program is None:
        raise SystemExit("haproxy is not installed; run `make programs`")
    made, stats = free_port(), free_port()
    text = re.sub(
        r"^ +(user|group|chroot|log /dev|stats socket) .*\n", "", CONFIGURATION.read_text("utf-8"), flags=re.M
    )
    changes = {"bind :8000": f"bind 127.0.0.1:{made}", "127.0.0.1:8405": f"127.0.0.1:{stats}"}
    changes |= {f"10.0.0.{n}:8080": f"127.0.0.1:{ports[name]}" for n, name in enumerate(NAMES, 1)}
    for shipped, here in changes.items():
        text = text.replace(shipped, here)
    (folder / "haproxy.cfg").write_text(text, "utf-8")
    process = subprocess.Popen([program, "-q", "-f", folder / "haproxy.cfg"], stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        yield Balancer(made, stats)
    finally:
        process.kill()
        process.wait()


def measure(report: Report, options: argparse.Namespace) -> None:
    size, seconds = size_of(options.quick), 2.0 if options.quick else 10.0
    requests = [request.encoded for request in make_requests(size, 256)]
    with tempfile.TemporaryDirectory() as folder:
        artifact, here = make_model(Path(folder) / "fans", size), Path(folder)
        services = {name: start(artifact, here / name) for name in NAMES}
        with balancer({name: service.port for name, service in services.items()}, here) as front:
            try:
                for name, service in services.items():
                    service.wait_until_ready()
                    front.wait_until(name, up=True)
                compare(report, front, services["one"], requests, seconds)
                for how in (signal.SIGKILL, signal.SIGTERM):
                    disturb(report, front, services, requests, how, 2 if options.quick else 6)
            finally:
                for service in services.values():
                    service.end()


def start(artifact: Path, folder: Path, port: int = 0) -> Service:
    folder.mkdir(exist_ok=True)
    return Service([artifact], folder, port=port, workers=1)


def compare(report: Report, front: Balancer, service: Service, requests: list[bytes], seconds: float) -> None:
    """Measure one client with and without HAProxy, in turn."""
    times: dict[str, list[float]] = {"direct": [], "balanced": []}
    for _ in range(3):
        for kind, port in (("direct", service.port), ("balanced", front.port)):
            times[kind].append(run_load(Load(port, requests, seconds / 3, connections=1)).percentile(50))
    medians = {kind: sorted(values)[1] for kind, values in times.items()}
    report.note("p50 of one client, direct", f"{medians['direct']:.2f} ms")
    report.note("added by HAProxy", f"{medians['balanced'] - medians['direct']:.2f} ms")


def disturb(
    report: Report,
    front: Balancer,
    services: dict[str, Service],
    requests: list[bytes],
    how: signal.Signals,
    times: int,
) -> None:
    noticed, repeated = 0.0, front.repeated()
    with start_load(Load(front.port, requests, 3600, connections=CLIENTS)) as under_load:
        for turn in range(times):
            name = NAMES[turn % 2]
            time.sleep(1)
            services[name].process.send_signal(how)
            noticed = max(noticed, front.wait_until(name, up=False))
            services[name].process.wait()
            services[name].end()
            folder = services[name].log.parent
            services[name] = start(folder.parent / "fans", folder, services[name].port)
            services[name].wait_until_ready()
            front.wait_until(name, up=True)
        time.sleep(1)
        tally = under_load.end()
    failed = tally.wrong()
    report.require(f"failed requests, {times} x {how.name}, of {tally.sent:,}", "0", failed or 0, not failed)
    report.note(f"slowest request, {how.name}", f"{max(tally.milliseconds()):.0f} ms")
    report.note(f"longest time until HAProxy avoided the service, {how.name}", f"{noticed:.2f} s")
    report.note(f"requests sent again, {how.name}", f"{front.repeated() - repeated:.0f}")


def main() -> None:
    run("balancer", argument_parser(__doc__), measure)


if __name__ == "__main__":
    main()
