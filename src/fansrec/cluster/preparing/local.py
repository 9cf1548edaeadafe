"""Shards that fit this machine are prepared in this process: it takes less time than on Ray."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from fansrec.cluster.memory import available_memory
from fansrec.cluster.preparing.pieces import JSONL, PARQUET, Piece, local_copy, shard_files
from fansrec.cluster.storage import StoredFile, absolute_url
from fansrec.data.categories import Report
from fansrec.data.columns import Columns
from fansrec.data.prepare import check_options, prepare
from fansrec.data.settings import Preparation
from fansrec.data.sources import ignore
from fansrec.data.tables import readable
from fansrec.errors import BadInput

# Memory that preparation takes for each byte of a shard, generously. Parquet is compressed and has columns of one type:
# an interaction takes 3 to 10 bytes there and 30 to 70 in memory.
MEMORY_FACTORS = {".parquet": 20, ".pq": 20, ".gz": 15, ".zip": 15}
MEMORY_FACTOR = 3  # of text
USABLE_SHARE = 0.5  # of the available memory
BOM = b"\xef\xbb\xbf"
BLOCK_BYTES = 1 << 20


def needed_memory(files: Sequence[StoredFile]) -> int:
    """Return the estimated bytes of memory to prepare these files in one process."""
    return sum(MEMORY_FACTORS.get(Path(file.name).suffix.lower(), MEMORY_FACTOR) * file.size for file in files)


def fits_here(source: str, report: Report = ignore) -> bool:
    """Return whether the shards can be prepared by this process, and report the choice."""
    files = shard_files(absolute_url(source))
    if not (Path(source).is_file() or all(file.name.lower().endswith((*PARQUET, *JSONL)) for file in files)):
        return False
    needed, available = needed_memory(files), available_memory()
    fits = needed <= USABLE_SHARE * available
    sizes = f"about {needed / 1e9:,.1f} GB of memory are needed and {available / 1e9:,.1f} GB available"
    if fits:
        report(f"engine: this process, which takes less time than Ray for data that fit it ({sizes})")
    else:
        report(f"engine: Ray ({sizes})")
    return fits


def prepare_locally(
    source: str,
    out: Path,
    preparation: Preparation = Preparation(),  # noqa: B008
    items: Any = None,
    columns: Columns = Columns(),  # noqa: B008
    report: Report = ignore,
    force: bool = False,
) -> dict[str, Any]:
    """Do the same as `prepare_on_cluster` in this process."""
    check_options(preparation, items, out, force)
    with _as_one_source(source) as (whole, name):
        try:
            return prepare(whole, out, preparation, items, columns, report, force, source_name=Path(source).name)
        except BadInput as error:
            where = source if name == source else f"{source}, read as one file"
            raise BadInput(error.on_command_line.replace(name, where)) from error


@contextmanager
def _as_one_source(source: str) -> Iterator[tuple[Any, str]]:
    """Yield the shards as one source of `data.prepare.prepare`, and what messages call it."""
    if Path(source).is_file():
        yield Path(source), source
        return
    files = shard_files(absolute_url(source))
    with ExitStack() as stack:
        if files[0].name.lower().endswith(PARQUET):
            copies = [stack.enter_context(local_copy(Piece(file))) for file in files]
            with readable(source):
                paths = [copy.path for copy in copies if copy is not None]
                yield pl.scan_parquet(paths, glob=False, hive_partitioning=False), "the dataframe"
        else:
            folder = stack.enter_context(TemporaryDirectory(prefix="fans-"))
            path = Path(folder) / "lists.jsonl"
            _join_lines(files, path)
            yield path, str(path)


def _join_lines(files: Sequence[StoredFile], path: Path) -> None:
    """Write the lines of all files to one."""
    with path.open("wb") as joined:
        for file in files:
            with local_copy(Piece(file)) as copy:
                if copy is None:
                    continue
                with copy.path.open("rb") as lines:
                    if lines.read(len(BOM)) != BOM:
                        lines.seek(0)
                    shutil.copyfileobj(lines, joined, BLOCK_BYTES)
                joined.write(b"\n")
