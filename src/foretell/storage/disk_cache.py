"""The disk cache: compiled kernels and the parser's tables, to make the next start quicker.

Nothing depends on it: where a file is missing or broken, or no folder is usable, the work is done again. A cached
kernel is code, so only what this user has stored is used: the folder must be ours alone, and each file carries an HMAC
of its name and content under a key that only this user can read.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from foretell.storage.private_files import (
    create_private,
    draft_of,
    is_private_folder,
    make_private_folder,
    read_private,
    replace_private,
)

PACKAGE = Path(__file__).parent
_KEY_FILE = "cache-key"
_KEY_BYTES = 32
_MAC_BYTES = 32
_private_folders: set[Path] = set()


def digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def load_cached(name: str, key: str) -> bytes | None:
    """The content that this user has stored under the name and the key."""
    secret = cache_key()
    if secret is None:
        return None
    for folder in filter(_is_private, cache_folders()):
        try:
            stored = read_private(folder / _file_name(name, key, secret))
        except OSError:
            continue
        content = stored[_MAC_BYTES:]
        if hmac.compare_digest(stored[:_MAC_BYTES], _mac(name, key, content, secret)):  # a crash may leave half of it
            return content
    return None


def store_cached(name: str, key: str, content: bytes, *, valid_prefix: str) -> None:
    """Store content, and delete files of this name whose keys do not begin with `valid_prefix`: they are outdated.

    Several processes may do this at once: a file appears whole, and all processes write the same for a name and key.
    (Numba's own cache has an index, in which two processes can mix up their kernels.)
    """
    folder, secret = writable_folder(), cache_key()
    if folder is None or secret is None:
        return
    with suppress(OSError):  # a full disk, or on Windows a file that another process reads
        replace_private(folder / _file_name(name, key, secret), _mac(name, key, content, secret), content)
        for old in folder.glob(f"{name}.*"):
            if not old.name.startswith(f"{name}.{valid_prefix}") and old.suffix != ".tmp":
                old.unlink(missing_ok=True)


def _file_name(name: str, key: str, secret: bytes) -> str:
    """Processes with other keys (without a home, say) have files of their own, lest they overwrite each other's."""
    return f"{name}.{key}.{hashlib.sha256(b'name of ' + secret).hexdigest()[:8]}"


def _mac(name: str, key: str, content: bytes, secret: bytes) -> bytes:
    made = hmac.new(secret, f"{name}.{key}\0".encode(), hashlib.sha256)
    made.update(content)
    return made.digest()


@cache
def cache_key() -> bytes | None:
    """This user's key: from the user's own cache folder or, where there is none, from a folder of the cache itself."""
    for folder in (*(home / "foretell" for home in _home_folders()), *cache_folders()):
        with suppress(OSError):
            make_private_folder(folder)
            if is_private_folder(folder):
                return _read_key(folder / _KEY_FILE) or _make_key(folder / _KEY_FILE)
    return None


def _read_key(file: Path) -> bytes | None:
    with suppress(OSError):
        found = read_private(file, secret=True)
        return found if len(found) == _KEY_BYTES else None
    return None


def _make_key(file: Path) -> bytes | None:
    """Several processes may do this at once: the first that links its draft has made the key of all."""
    draft = draft_of(file)
    try:
        create_private(draft, os.urandom(_KEY_BYTES))
        if file.exists() and _read_key(file) is None:  # others can read it, or a part is missing
            file.unlink(missing_ok=True)
        file.hardlink_to(draft)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
    return _read_key(file)


@cache
def writable_folder() -> Path | None:
    for folder in cache_folders():
        try:
            make_private_folder(folder)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        if _is_private(folder):
            return folder
    return None


def _is_private(folder: Path) -> bool:
    if folder not in _private_folders and is_private_folder(folder):
        _private_folders.add(folder)  # others cannot change that; a folder that is missing may yet be made
    return folder in _private_folders


def cache_folders() -> Iterator[Path]:
    """The folder of Numba's environment variable, `__pycache__` beside our code, the user's cache folder, and a folder
    for temporary files for users without a home, as in containers that run under any user number.

    Installations that share a folder have subfolders of their own, since each deletes files that it considers outdated.
    The folder beside our code does not depend on the path, so that it stays valid when the code is moved.
    """
    tag = sys.implementation.cache_tag
    own = f"foretell-{digest([str(PACKAGE)])}-{tag}"
    if numba_folder := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(numba_folder) / own
    yield PACKAGE / "__pycache__" / f"foretell-{tag}"
    for home in _home_folders():
        yield home / own
    if sys.platform != "win32":
        yield Path(tempfile.gettempdir()) / f"{own}-{os.geteuid()}"


def _home_folders() -> Iterator[Path]:
    if home := os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA"):
        yield Path(home)
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home() fails where there is none
    if home != "~":
        yield Path(home) / ".cache"
