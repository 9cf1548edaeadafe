"""Skips where something is missing on a developer's machine, and failures instead of them where `CI` is set."""

import os
from typing import NoReturn

import pytest


def skip_or_fail(reason: str) -> NoReturn:
    """Skip the running test; with `CI` set fail it, because there everything a test needs has to be installed.

    `reason` says what is missing and how to get it. Tests that need a GPU use a plain `skipif` instead: machines
    without one are legitimate everywhere.
    """
    if os.environ.get("CI"):
        pytest.fail(f"{reason} (CI is set, so this is not skipped)", pytrace=False)
    pytest.skip(reason)
