"""A folder for the files that cases write, in memory where the system has such a place: a disk takes longer than most
cases."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

_IN_MEMORY = Path("/dev/shm")


def work_folder() -> Path:
    """A new folder that goes with this process."""
    folder = Path(tempfile.mkdtemp(dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
