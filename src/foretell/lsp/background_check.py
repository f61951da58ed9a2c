"""Background checks: the meaning of a text, checked by another process within a time limit.

A solver and automata take seconds, and Python's threads would share the time of the server with them. A process can be
ended at any moment: where a newer version of the text comes, it is.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from typing import Any

#: The longest answer: some hundreds of findings with their witnesses.
_LARGEST_ANSWER = 64 * 1024 * 1024
#: The seconds that a process may take beyond those of the check: to start, and to finish the last question.
_GRACE = 20.0


class BackgroundChecks:
    """One process, which checks one text after the other; it starts with the first, and again where it was ended."""

    def __init__(self, seconds: float, statement_seconds: float) -> None:
        self._seconds, self._statement_seconds = seconds, statement_seconds
        self._process: Process | None = None
        self._turn = asyncio.Lock()

    async def findings(self, text: str) -> dict[str, Any]:
        """The answer of the process; an empty one where it failed. Cancelling this ends the process."""
        request = {"text": text, "seconds": self._seconds, "statement_seconds": self._statement_seconds}
        async with self._turn:
            try:
                line = await asyncio.wait_for(self._exchange(json.dumps(request)), self._seconds + _GRACE)
                return dict(json.loads(line)) if line else {}
            except (TimeoutError, OSError, ValueError):
                await self.stop()
                return {}
            except asyncio.CancelledError:
                await self.stop()
                raise

    async def _exchange(self, request: str) -> bytes:
        process = await self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{request}\n".encode())
        await process.stdin.drain()
        line = await process.stdout.readline()
        if not line:  # it has ended by itself
            self._process = None
        return line

    async def _running(self) -> Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "foretell.lsp.check_process",
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                limit=_LARGEST_ANSWER,
            )
        return self._process

    async def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
