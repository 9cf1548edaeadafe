"""Fixtures of the tests of engines."""

import pytest

from fansrec.engine.native.library import missing
from skipping import skip_or_fail


@pytest.fixture(scope="session")
def native_kernel() -> None:
    """Require the native kernel that the installation compiles."""
    reason = missing()
    if reason is not None:
        skip_or_fail(f"{reason}; `make install` builds it where there is a C++ compiler")
