"""The service of the page tests."""

from collections.abc import Sequence
from pathlib import Path

from serving.service import Running, until


def page_service(models: Sequence[str], folder: Path, *options: object) -> Running:
    """Start a service and wait until its search index is built, which is kept in the folder."""
    running = Running(*models, "--workers", 1, *options, FANS_SEARCH_FOLDER=folder / "search", OMP_NUM_THREADS=1)
    if not until(lambda: running.http.get("/v1/items?search=a").status_code != 503):
        running.stop()
        raise AssertionError("the search index was not built")
    return running
