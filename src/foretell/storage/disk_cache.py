"""Files that spare work at the next start: compiled kernels, the parser's tables.

They are not needed: where one is missing or broken, or no folder can be written to, the work is done again. Who can
write to these folders can have us run his code, as with Python's own `__pycache__`: none of them is open to everybody.
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

_PACKAGE = Path(__file__).parent
_DIGEST = 32


def digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def kept(name: str, key: str) -> bytes | None:
    """What was kept under the name and the key, also by somebody else who may write where we may not."""
    for place in _folders():
        try:
            found = (place / f"{name}.{key}").read_bytes()
        except OSError:
            continue
        content = found[_DIGEST:]
        if hashlib.sha256(content).digest() == found[:_DIGEST]:  # a crash may leave half of it
            return content
    return None


def keep(name: str, key: str, content: bytes, *, instead: str) -> None:
    """Keeps it. Files of this name whose keys do not begin with `instead` are out of date and go.

    Several processes may do this at once: a file appears whole, and whoever writes one of a name and key writes the
    same. (Numba's own cache has an index, which two processes can leave saying that one's kernel is the other's.)
    """
    place = _writable()
    if place is None:
        return
    half = place / f"{name}.{uuid.uuid4().hex}.tmp"
    try:
        half.write_bytes(hashlib.sha256(content).digest() + content)
        half.replace(place / f"{name}.{key}")
        for old in place.glob(f"{name}.*"):
            if not old.name.startswith(f"{name}.{instead}") and old.suffix != ".tmp":
                old.unlink(missing_ok=True)
    except OSError:  # a full disk, or on Windows a file that another process reads
        half.unlink(missing_ok=True)


@cache
def _writable() -> Path | None:
    for place in _folders():
        try:
            place.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=place).close()
        except OSError:
            continue
        return place
    return None


def _folders() -> Iterator[Path]:
    """Numba's variable goes first; then beside our code, then where the user's caches are.

    Installations that share a folder have their own within it, since each throws away what is old in its eyes. What
    lies beside our code is known by no path, so that it goes along when the code is brought elsewhere.
    """
    tag = sys.implementation.cache_tag
    own = f"foretell-{digest([str(_PACKAGE)])}-{tag}"
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(given) / own
    yield _PACKAGE / "__pycache__" / f"foretell-{tag}"
    if home := os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA"):
        yield Path(home) / own
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home() fails where there is none
    if home != "~":
        yield Path(home) / ".cache" / own
