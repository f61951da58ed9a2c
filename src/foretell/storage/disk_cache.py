"""The disk cache: compiled kernels and the parser's tables, to make the next start quicker.

Nothing depends on it: where a file is missing or broken, or no folder is writable, the work is done again. As with
Python's own `__pycache__`, write access to these folders is the right to run code here: none of them is world-writable.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent
_DIGEST_BYTES = 32


def digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def load_cached(name: str, key: str) -> bytes | None:
    """The content stored under the name and the key, also in folders that only others can write to."""
    for folder in cache_folders():
        try:
            stored = (folder / f"{name}.{key}").read_bytes()
        except OSError:
            continue
        content = stored[_DIGEST_BYTES:]
        if hashlib.sha256(content).digest() == stored[:_DIGEST_BYTES]:  # a crash may leave half of it
            return content
    return None


def store_cached(name: str, key: str, content: bytes, *, valid_prefix: str) -> None:
    """Store content, and delete files of this name whose keys do not begin with `valid_prefix`: they are outdated.

    Several processes may do this at once: a file appears whole, and all processes write the same for a name and key.
    (Numba's own cache has an index, in which two processes can mix up their kernels.)
    """
    folder = writable_folder()
    if folder is None:
        return
    draft = folder / f"{name}.{uuid.uuid4().hex}.tmp"
    try:
        draft.write_bytes(hashlib.sha256(content).digest() + content)
        draft.replace(folder / f"{name}.{key}")
        for old in folder.glob(f"{name}.*"):
            if not old.name.startswith(f"{name}.{valid_prefix}") and old.suffix != ".tmp":
                old.unlink(missing_ok=True)
    except OSError:  # a full disk, or on Windows a file that another process reads
        draft.unlink(missing_ok=True)


@cache
def writable_folder() -> Path | None:
    for folder in cache_folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        return folder
    return None


def cache_folders() -> Iterator[Path]:
    """The folder of Numba's environment variable, then `__pycache__` beside our code, then the user's cache folder.

    Installations that share a folder have subfolders of their own, since each deletes files that it considers outdated.
    The folder beside our code does not depend on the path, so that it stays valid when the code is moved.
    """
    tag = sys.implementation.cache_tag
    own = f"foretell-{digest([str(PACKAGE)])}-{tag}"
    if numba_folder := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(numba_folder) / own
    yield PACKAGE / "__pycache__" / f"foretell-{tag}"
    if home := os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA"):
        yield Path(home) / own
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home() fails where there is none
    if home != "~":
        yield Path(home) / ".cache" / own
