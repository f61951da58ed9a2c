"""The service: a running pipeline with what the API needs to answer for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from foretell.errors import InputError
from foretell.lsp.background_check import BackgroundChecks
from foretell.serve.access import AccessPolicy
from foretell.serve.recent_events import RecentEvents
from foretell.serve.recorder import PipelineRecorder
from foretell.serve.runner import PipelineRunner, ServedPipeline
from foretell.serve.trial import TrialProcess

_Answer = TypeVar("_Answer")

#: Seconds for findings on a text, and on one statement.
_CHECK_SECONDS, _STATEMENT_SECONDS = 6.0, 2.0


@dataclass
class PipelineService:
    """`recent` has the events on which statements are tried; None where the engine keeps none. `tables` are those of
    FOR EACH statements, `model` is a model file for trials."""

    recorder: PipelineRecorder
    pipeline: ServedPipeline
    runner: PipelineRunner
    policy: AccessPolicy
    recent: RecentEvents | None = None
    tables: Mapping[str, object] = field(default_factory=dict)
    model: str | None = None
    clients: int = 0
    stopping: bool = False

    def __post_init__(self) -> None:
        self.checks = BackgroundChecks(_CHECK_SECONDS, _STATEMENT_SECONDS)
        self.trials = TrialProcess()

    async def call(self, run: Callable[[], _Answer]) -> _Answer:
        """Have the pipeline's thread call a function between two steps."""
        answer, patience = self.runner.call(run), self.pipeline.patience
        try:
            return await asyncio.wait_for(asyncio.wrap_future(answer), patience)
        except TimeoutError:
            hint = "it is working on many events, or compiles a statement for the first time; try again"
            raise InputError("busy", f"the pipeline has not answered for {patience:g} seconds", hint=hint) from None

    async def close(self) -> None:
        await self.checks.stop()
        await self.trials.stop()


def page_title(path: Path) -> str:
    """The name of a pipeline by its file, or by its folder where all files are called so."""
    return path.parent.resolve().name if path.stem == "pipeline" else path.stem
