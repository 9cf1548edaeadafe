"""`fans` in processes that may crash: a server that has imported everything forks a process for each command line.

This file is also the program of the server. It reads command lines from stdin, each a JSON list that starts with FORK
or HERE, and answers each with a JSON object: the exit status (negative: the signal that ended it), the output and the
errors. Commands that it runs itself (HERE) import modules that the forked processes then share.
"""

import gc
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import IO, Any

DEADLINE = 120  # seconds; a command takes some hundredths of a second
FORK, HERE = "fork", "here"
MORE_MEMORY = 1 << 30  # bytes that a command may use in addition to the server's


class CommandServer:
    """A client of the server, which it starts."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            env=dict(environment or os.environ) | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "COLUMNS": "200"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> dict[str, Any]:
        """Return `code`, `out` and `err` of `fans ARGUMENTS`, run in another process."""
        return self._send(FORK, *arguments)

    def warm_up(self, *arguments: str) -> None:
        """Run a command that cannot crash in the server itself."""
        self._send(HERE, *arguments)

    def _send(self, *command: str) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def _serve() -> None:
    import onnx  # noqa: F401
    import torch

    import fansrec.api.continuer
    import fansrec.cli.main
    import fansrec.engine.native.backend
    import fansrec.exporting.onnx_file

    torch.set_num_threads(1)
    if fansrec.engine.native.backend.missing() is None:
        fansrec.engine.native.backend.library()
    sys.path.insert(0, os.path.dirname(os.path.dirname(__file__)))
    for line in sys.stdin:
        where, *arguments = json.loads(line)
        print(json.dumps(_in_a_child(arguments) if where == FORK else _here(arguments)), flush=True)


def _here(arguments: list[str]) -> dict[str, Any]:
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = _status(arguments)
    gc.collect()
    gc.freeze()  # pages that are not written to are shared with the processes forked later
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def _in_a_child(arguments: list[str]) -> dict[str, Any]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os._exit(_command(arguments, out, err))
        _, status = os.waitpid(child, 0)
        texts = {}
        for name, file in (("out", out), ("err", err)):
            file.seek(0)
            texts[name] = file.read(1 << 20).decode(errors="replace")
    return {"code": os.waitstatus_to_exitcode(status), **texts}


def _command(arguments: list[str], out: IO[bytes], err: IO[bytes]) -> int:
    """Run `fans` within limits and print to these files; return the exit status."""
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    signal.alarm(DEADLINE)  # its default is to end the process
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # whose shadow takes terabytes of addresses
        with open("/proc/self/statm") as sizes:
            most = int(sizes.read().split()[0]) * resource.getpagesize() + MORE_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    return _status(arguments)


def _status(arguments: list[str]) -> int:
    """Run `fans` as its entry point does; return the exit status."""
    from fansrec.cli.main import run

    sys.argv = ["fans", *arguments]
    try:
        run()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


if __name__ == "__main__":
    _serve()
