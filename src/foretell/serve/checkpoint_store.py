"""The checkpoint of an embedded pipeline: the engine's snapshot, the positions of the sources, and what was written.

All of it is one file that is replaced at once, so a crash leaves the state before a batch or after it.
"""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Any, BinaryIO

from foretell.errors import InputError
from foretell.records import record
from foretell.storage.blob import pack, unpack
from foretell.storage.private_files import make_private_folder, open_private, replace_private

#: The version of the layout. The service reads this one and all earlier ones.
_LAYOUT = 1
_STATE, _LOCK = "service.state", "service.lock"


@record
class PipelineCheckpoint:
    """The state after a batch: `batch` is the number of the next one, `statements` the text of the pipeline's own
    statements then, `side_files` the inode and length of each file that rows are appended to."""

    snapshot: bytes
    statements: str
    positions: dict[str, Any]
    side_files: dict[str, list[int]]
    batch: int


class CheckpointStore:
    """The checkpoint in a folder, for the only process that uses it."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        make_private_folder(self._folder)
        self._lock = self._locked()

    def _locked(self) -> BinaryIO:
        lock = open_private(self._folder / _LOCK, "ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            message = f"another process uses the checkpoint '{self._folder}'"
            hint = "end it first; a second service needs a checkpoint and an output of its own"
            raise InputError("checkpoint-in-use", message, hint=hint) from None
        return lock

    def read(self) -> PipelineCheckpoint | None:
        """The checkpoint; None where there is none yet."""
        try:
            content = (self._folder / _STATE).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            message = f"cannot read the checkpoint '{self._folder}': {error.strerror or error}"
            raise InputError("cannot-read", message) from None
        header, state = unpack(content, "service")
        if header.get("layout") != _LAYOUT:
            message = f"the checkpoint '{self._folder}' has layout {header.get('layout')}, this version reads {_LAYOUT}"
            raise InputError("newer-snapshot", message, hint="use the version that made it, or another folder")
        try:
            return PipelineCheckpoint(**state)
        except TypeError:
            message = f"the checkpoint '{self._folder}' has unexpected contents"
            raise InputError("unusable-snapshot", message, hint="use another folder") from None

    def write(self, checkpoint: PipelineCheckpoint) -> None:
        state = {
            "snapshot": checkpoint.snapshot,
            "statements": checkpoint.statements,
            "positions": checkpoint.positions,
            "side_files": checkpoint.side_files,
            "batch": checkpoint.batch,
        }
        try:
            replace_private(self._folder / _STATE, pack("service", {"layout": _LAYOUT}, state))
        except OSError as error:
            message = f"cannot write the checkpoint '{self._folder}': {error.strerror or error}"
            raise InputError("cannot-write", message) from None

    def close(self) -> None:
        self._lock.close()
