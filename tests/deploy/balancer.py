"""HAProxy with deploy/haproxy/haproxy.cfg, for tests: on free ports of this machine, in front of given services."""

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType

import httpx2

from serving.service import DEADLINE_S
from skipping import skip_or_fail

CONFIGURATION = Path(__file__).resolve().parents[2] / "deploy" / "haproxy" / "haproxy.cfg"
ADDRESSES = {"one": "10.0.0.1:8080", "two": "10.0.0.2:8080"}  # in the configuration
OF_THE_MACHINE = r"^ +(user|group|chroot|log /dev|stats socket) .*\n"  # lines that need root or other programs


def haproxy() -> str:
    """Return the path of the program; skip or fail the running test without it."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"], "/usr/sbin"])
    found = shutil.which("haproxy", path=path)
    if found is None:
        skip_or_fail("haproxy is not installed (apt-get install haproxy)")
    return found


class Balancer:
    """`with Balancer(folder, {"one": port, "two": port}) as balancer:` balances at `balancer.url`."""

    def __init__(self, folder: Path, ports: dict[str, int]) -> None:
        program = haproxy()
        self._sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        self.url, self._stats = (f"http://127.0.0.1:{made.getsockname()[1]}" for made in self._sockets)
        self._folder = folder
        (folder / "haproxy.cfg").write_text(self._configuration(ports))
        self._log = (folder / "haproxy.log").open("w")
        self._process = subprocess.Popen(
            [program, "-f", folder / "haproxy.cfg"],
            stdout=self._log,
            stderr=self._log,
            pass_fds=[made.fileno() for made in self._sockets],
        )
        self.http = httpx2.Client(base_url=self.url, timeout=DEADLINE_S)

    def _configuration(self, ports: dict[str, int]) -> str:
        """Return the configuration with other addresses, and with timeouts that a slow machine does not reach."""
        text = re.sub(OF_THE_MACHINE, "", CONFIGURATION.read_text(), flags=re.M)
        text = re.sub(r"^( +timeout (?!connect)\S+) .*$", rf"\1 {DEADLINE_S}s", text, flags=re.M)
        clients, stats = (f"bind fd@{made.fileno()}" for made in self._sockets)
        changes = {"bind :8000": clients, "bind 127.0.0.1:8405": stats}
        changes |= {ADDRESSES[name]: f"127.0.0.1:{port}" for name, port in ports.items()}
        for shipped, here in changes.items():
            assert shipped in text
            text = text.replace(shipped, here)
        return text

    def metric(self, name: str, server: str, labels: str = "") -> float:
        """Return a metric of a server of the backend `reads`."""
        text = httpx2.get(f"{self._stats}/metrics", timeout=DEADLINE_S).text
        sample = re.escape(f'haproxy_server_{name}{{proxy="reads",server="{server}"{labels}}}')
        return float(re.findall(rf"^{sample} (\S+)$", text, re.M)[0])

    def is_up(self, server: str) -> bool:
        """Return whether a server gets requests."""
        return self.metric("status", server, ',state="UP"') == 1

    def is_checked(self, server: str) -> bool:
        """Return whether a server is up and was ready at the last health check; before the first one it is up, too."""
        return self.is_up(server) and self.metric("check_code", server) == 200

    def __enter__(self) -> "Balancer":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.http.close()
        self._process.kill()
        self._process.wait()
        for made in self._sockets:
            made.close()
        self._log.close()
