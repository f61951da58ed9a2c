"""Which engine runs a program: Spark, the compiled engine in process, or the reference evaluator."""

from __future__ import annotations

import os
from collections.abc import Mapping

from foretell.arguments.validation import describe
from foretell.errors import InputError, suggestion
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedSubscription
from foretell.language.subscriptions import Subscriptions

ENGINES = ("embedded", "reference", "spark")


def check_engine(engine: object) -> None:
    if engine is not None and engine not in ENGINES:
        message = f"unknown engine {describe(engine)}"
        raise InputError("unknown-engine", message, hint=suggestion(str(engine), ENGINES))


def prefers_spark(program: Subscriptions, sources: Mapping[str, object]) -> bool:
    """Whether Spark is the default: for Spark frames, and for files of statements that Spark can run. Events that are
    in memory are processed before a JVM has started."""
    if any(map(is_spark_frame, sources.values())):
        return True
    statements = program.program.statements
    compiled = not any(isinstance(s, tree.Correlator) or getattr(s, "losing", None) for s in statements)
    return compiled and any(isinstance(source, str | os.PathLike) for source in sources.values())


def is_spark_frame(source: object) -> bool:
    """Whether a source is a Spark DataFrame, without importing Spark."""
    return type(source).__module__.startswith("pyspark.sql.")


def is_streaming(source: object) -> bool:
    return bool(getattr(source, "isStreaming", False))


def is_compiled(checked: CheckedProgram) -> bool:
    """Whether the compiled engine runs all statements."""
    return all(isinstance(s, CheckedSubscription) and s.tree.losing is None for s in checked.statements)
