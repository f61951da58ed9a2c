"""One call of an engine at a time, in the process that made it; and none after a call that broke off halfway."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from foretell.errors import ForetellError, InputError

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_Method = Callable[Concatenate[Any, _Arguments], _Result]


class ExclusiveUse:
    """A lock on an engine that refuses instead of waiting; `with` it a call begins and ends.

    A call is refused while another one runs, of another thread or of the same (a source of events may push itself), in
    a forked process, and where an earlier call broke off while it changed the engine.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._broken_by: str | None = None
        #: While the engine changes. An error of ours refuses a change and leaves the engine as it was.
        self.changing = _Change(self)

    def __enter__(self) -> None:
        if os.getpid() != self._process:
            hint = "take a snapshot before the fork, and restore it in the new process"
            raise InputError("forked-engine", "the engine belongs to another process", hint=hint)
        if not self._lock.acquire(blocking=False):
            hint = "let one thread call the engine, or use a lock; push no events while others are read"
            raise InputError("busy-engine", "the engine is busy with another call", hint=hint)
        if self._broken_by is not None:
            self._lock.release()
            message = f"an earlier call broke off while it changed the engine ({self._broken_by})"
            raise InputError("broken-engine", message, hint="continue with Engine.restore and your last snapshot")

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def break_off(self, error: type[BaseException]) -> None:
        """Refuses all calls from now on, because of an error in the midst of a change."""
        self._broken_by = error.__name__


class _Change:
    def __init__(self, use: ExclusiveUse) -> None:
        self._use = use

    def __enter__(self) -> None:
        return None

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None and not issubclass(error, ForetellError):
            self._use.break_off(error)


def exclusive(method: _Method[_Arguments, _Result]) -> _Method[_Arguments, _Result]:
    """A method of an engine that looks at it."""

    @wraps(method)
    def guarded(engine: Any, /, *given: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
        with engine._use:
            return method(engine, *given, **named)

    return guarded


def changes(method: _Method[_Arguments, _Result]) -> _Method[_Arguments, _Result]:
    """A method of an engine that changes it all the while."""

    @wraps(method)
    def guarded(engine: Any, /, *given: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
        with engine._use, engine._use.changing:
            return method(engine, *given, **named)

    return guarded
