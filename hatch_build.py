"""Compile the native kernel into the wheel or, for an editable installation, beside its sources."""

import runpy
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SCRIPT = Path("src/fansrec/engine/native/compile.py")


class NativeKernel(BuildHookInterface):  # type: ignore[misc]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Without a compiler the package is built all the same: it says so when it is used, and runs on torch."""
        fault = runpy.run_path(str(Path(self.root) / SCRIPT))["compile_kernel"]()
        if fault is not None:
            self.app.display_warning(f"The fast CPU kernel was not built: {fault}. fansrec will use plain torch.")
            return
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
