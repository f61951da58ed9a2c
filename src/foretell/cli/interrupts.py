"""Ctrl-C: one line on standard error, status 130, and no process left behind.

Imports little, since the command must handle an interrupt while everything else loads.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn

STATUS = 130
_TEXT = "stopped by Ctrl-C"

_received = threading.Event()


def handle_interrupts() -> None:
    """Make Ctrl-C an exception that `was_interrupted` remembers, unless the shell made this process ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _unraisable


def was_interrupted() -> bool:
    return _received.is_set()


def leave() -> NoReturn:
    """End this process and its Spark. Nothing else runs: exit handlers of libraries would print or wait."""
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError, ValueError):
        if sys.stderr is not None:
            print(_TEXT, file=sys.stderr, flush=True)
    _silence_libraries()
    try:
        # Not imported here: a Spark that runs has loaded the module.
        end_spark = getattr(sys.modules.get("foretell.spark.session.jvm"), "end_spark", None)
        if end_spark is not None:
            end_spark()
    finally:
        os._exit(STATUS)


def _interrupt(_: int, __: FrameType | None) -> None:
    _received.set()
    _silence_libraries()
    raise KeyboardInterrupt


def _silence_libraries() -> None:
    """Py4J logs an interrupt, and every connection that breaks when the JVM ends, with a traceback; PySpark warns that
    it could not stop a Spark whose start was interrupted."""
    if "warnings" in sys.modules:
        sys.modules["warnings"].simplefilter("ignore")
    if "logging" in sys.modules:  # not imported here, for speed: a library that logs has loaded the module
        sys.modules["logging"].disable()


def _unraisable(unraisable: Any) -> None:
    """An interrupt in a place from which Python raises nothing, such as a finalizer, ends the process from there."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        leave()
    sys.__unraisablehook__(unraisable)
