"""The nightly job: the model learns the lists of the days that it lacks, then every user's list is continued.

    python nightly.py --models models --new-lists new --users users.parquet --out suggestions.parquet

`models/current` is a link to the model in use, which is named by the day up to which it has all lists. For each later
file of `new`, such as 2026-11-18.parquet, the job writes the model models/2026-11-18 and sets `current` to it. It can
be run again at any time, also after it was killed: finished steps are skipped, and files and folders appear only when
they are complete. The exit code is 0 if all is done, otherwise 1.
"""

import argparse
import fcntl
import logging
import os
import shutil
import sys
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import fansrec

LISTS_AT_ONCE = 512
LAST_ITEMS = 100  # of a list are used: a model refuses lists that are longer than it is made for
KEPT_MODELS = 7  # the newest, so that there is one to return to
OUT = pa.schema({"user": pa.string(), "items": pa.list_(pa.string()), "fallback": pa.bool_()})

logger = logging.getLogger("nightly")


def update_model(models: Path, new_lists: Path) -> None:
    """Add the lists of all days that the current model lacks, in order; a missed night is made up for."""
    for file in sorted(new_lists.glob("????-??-??.*")):  # not .2026-11-18.parquet, which is still being written
        day, current = date.fromisoformat(file.stem), models / "current"
        if day <= date.fromisoformat(current.resolve().name):
            continue
        new = models / file.stem
        if not new.exists():  # a folder appears when it is complete: one that exists is done
            report = fansrec.update(current, new, lists=file, on_bad_row="skip", report=logger.info)
            logger.info("%s: %d lists added, %d replaced", new, report.lists_added, report.lists_replaced)
        link = models / "current.new"
        link.unlink(missing_ok=True)
        link.symlink_to(new.name)
        link.replace(current)  # there is no moment without a link
        logger.info("%s is %s", current, new.name)


def continue_lists(run: Path, users: Path, out: Path, k: int) -> int:
    """Write the continuation of each user's list and return their number; memory use does not depend on it."""
    model, lists = fansrec.load(run), 0
    temporary = out.with_name(f".{out.name}.new")  # always this name: what a killed job left is written over
    with pq.ParquetFile(users) as source, pq.ParquetWriter(temporary, OUT) as writer:
        for batch in source.iter_batches(LISTS_AT_ONCE, columns=["user", "items"]):
            lists_of_users = batch["items"].to_pylist()  # a list, or an item of it, may be null
            given = [[item for item in items or [] if item is not None][-LAST_ITEMS:] for items in lists_of_users]
            # A list without a known item gets popular items, and `fallback` says so.
            answers = model.continue_lists(given, k=k, fallback="popular")
            items = [[*map(str, one.items)] for one in answers]  # ids may be integers
            columns = [batch["user"].cast(pa.string()), items, [one.fallback is not None for one in answers]]
            writer.write_table(pa.table(columns, schema=OUT))
            lists += batch.num_rows
    with temporary.open("rb") as file:
        os.fsync(file.fileno())  # the content is on the disk before the name
    temporary.replace(out)
    return lists


def remove_old(models: Path) -> None:
    """Remove all but the newest models and the current one."""
    for path in sorted(models.glob("????-??-??"))[:-KEPT_MODELS]:
        if path.name != (models / "current").resolve().name:
            shutil.rmtree(path)
            logger.info("removed %s", path)


def main(options: argparse.Namespace) -> None:
    with (options.models / "lock").open("w") as lock:  # the system releases it when the process ends, however it ends
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        update_model(options.models, options.new_lists)
        lists = continue_lists(options.models / "current", options.users, options.out, options.k)
        logger.info("%s: %d lists continued", options.out, lists)
        remove_old(options.models)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True, help="folder of the models, with the link `current`")
    parser.add_argument("--new-lists", type=Path, required=True, help="folder with a file of new lists for each day")
    parser.add_argument("--users", type=Path, required=True, help="Parquet file with the columns user and items")
    parser.add_argument("--out", type=Path, required=True, help="Parquet file to write; it is replaced")
    parser.add_argument("-k", type=int, default=10, help="items for each user")
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    try:
        main(parser.parse_args())
    except BlockingIOError:
        sys.exit("nightly: another run has not ended; this one did nothing")
    except (fansrec.FansError, OSError, ValueError, KeyError, pa.ArrowException) as error:
        sys.exit(f"nightly: {error}")
