"""Compile the native kernel into the wheel or, for an editable installation, beside its sources."""

import os
import runpy
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SCRIPT = Path("src/fansrec/engine/native/compile.py")


class NativeKernel(BuildHookInterface):  # type: ignore[misc]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernel; without a compiler, build the package without it, which then needs torch.

        An editable installation is a development build, which reports warnings of the compiler. With FANS_COMPILED set
        (tests of packaging) the libraries beside the sources are packaged as they are.
        """
        if os.environ.get("FANS_COMPILED"):
            self._set_platform(build_data)
            return
        script = runpy.run_path(str(Path(self.root) / SCRIPT))
        compile_kernel, strict = script["compile_kernel"], version == "editable"
        error = compile_kernel(more=script["STRICT"] if strict else ())
        if error is not None and strict and (error := compile_kernel()) is None:
            self.app.display_warning("The compiler warns about the fast CPU kernel; its output is above.")
        if error is not None:
            self.app.display_warning(f"The fast CPU kernel was not built: {error}. fansrec will need its extra torch.")
            return
        self._set_platform(build_data)

    def _set_platform(self, build_data: dict[str, Any]) -> None:
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
