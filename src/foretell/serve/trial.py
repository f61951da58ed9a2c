"""Trials of statements on kept events, in a process of their own that is ended when it takes too long."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa

from foretell.errors import InputError
from foretell.events.arrow_interop import table_to_bytes

#: Seconds that a trial may take, and after which an idle process ends.
DEADLINE, IDLE_SECONDS = 30.0, 300.0
#: Rows that an answer has.
MOST_ROWS = 200
_LARGEST_ANSWER = 256 * 1024 * 1024


class TrialProcess:
    """One process for one trial at a time; it starts with the first."""

    def __init__(self, deadline: float = DEADLINE) -> None:
        self._deadline = deadline
        self._process: Process | None = None
        self._turn = asyncio.Lock()
        self._idle: asyncio.TimerHandle | None = None

    async def run(self, request: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> dict[str, Any]:
        """The answer of the process. Raises InputError where another trial runs, or this one takes too long."""
        if self._turn.locked():
            raise InputError("busy-trial", "another trial is running", hint="try again when it has ended")
        async with self._turn:
            if self._idle is not None:
                self._idle.cancel()
            try:
                return await asyncio.wait_for(self._exchange(request, tables), self._deadline)
            except TimeoutError:
                await self.stop()
                message = f"the trial took more than {self._deadline:g} seconds"
                raise InputError("trial-deadline", message, hint="add WITHIN, or another condition") from None
            except (OSError, ValueError):
                await self.stop()
                message = "the trial broke off: its process has ended"
                raise InputError("trial-failed", message, hint="it may need too much memory: add WITHIN") from None
            except asyncio.CancelledError:
                await self.stop()
                raise
            finally:
                self._idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._end_idle)

    async def _exchange(self, request: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> dict[str, Any]:
        process = await self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        contents = {name: await asyncio.to_thread(table_to_bytes, table) for name, table in tables.items()}
        header = {**request, "rows": MOST_ROWS, "streams": {name: len(data) for name, data in contents.items()}}
        process.stdin.write(json.dumps(header).encode() + b"\n")
        for data in contents.values():
            process.stdin.write(data)
        await process.stdin.drain()
        line = await process.stdout.readline()
        return dict(json.loads(line))  # an empty line, of a process that has ended, is a ValueError

    async def _running(self) -> Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "foretell.serve.trial_process",
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                limit=_LARGEST_ANSWER,
                start_new_session=True,  # Ctrl-C in the terminal is the service's alone
            )
        return self._process

    def _end_idle(self) -> None:
        if self._process is not None and self._process.returncode is None and not self._turn.locked():
            with suppress(ProcessLookupError):
                self._process.kill()

    async def stop(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
