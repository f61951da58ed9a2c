"""Local copies of large snapshots, on the disk of the machine that wrote them.

Spark gives a task any worker that is idle, so the worker that has a shard's engine in memory is often another one than
the next micro-batch gets. A snapshot of 20 MB comes from Spark's state in more than a second, and from a file in some
milliseconds. There is one file for each shard, in a folder that Spark removes with the executor. Nothing depends on it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from foretell.storage.private_files import make_private_folder, read_private, replace_private

#: Spark tells its Python workers the folders of their executor, which are for shuffles.
_FOLDERS = "SPARK_LOCAL_DIRS"


def read_copy(names: bytes) -> bytes | None:
    """Return the snapshot whose pages have these names; None if this machine has no copy."""
    file = _file(names)
    with contextlib.suppress(OSError):
        return None if file is None else read_private(file)
    return None


def write_copy(names: bytes, snapshot: bytes, before: bytes) -> None:
    """Store a snapshot by the names of its pages, in place of the copy by the names `before`."""
    file, old = _file(names), _file(before)
    if file is None or old is None or file == old:
        return
    with contextlib.suppress(OSError):  # as of a full disk
        # The old file goes first: most systems write out at once what replaces a file.
        old.unlink(missing_ok=True)
        make_private_folder(file.parent)
        replace_private(file, snapshot)


def _file(names: bytes) -> Path | None:
    folders = os.environ.get(_FOLDERS)
    if not folders:
        return None
    return Path(folders.split(",")[0], "foretell-snapshots", hashlib.sha256(names).hexdigest())
