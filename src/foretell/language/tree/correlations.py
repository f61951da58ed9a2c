"""Correlation expressions of CORRELATE."""

from __future__ import annotations

from foretell.language.tree.nodes import Node
from foretell.records import record


class Correlation(Node):
    pass


@record
class On(Correlation):
    """A predicate: the first event that satisfies the step."""

    step: str


@record
class Accumulate(Correlation):
    parts: tuple[Correlation, ...]


@record
class Select(Correlation):
    """`select{...}`; strict is `select*{...}`, which fails when one part fails."""

    parts: tuple[Correlation, ...]
    strict: bool = False


@record
class Sequential(Correlation):
    parts: tuple[Correlation, ...]


@record
class Unless(Correlation):
    body: Correlation
    stopper: Correlation


@record
class Fail(Correlation):
    body: Correlation


@record
class Push(Correlation):
    token: str
    body: Correlation


@record
class Again(Correlation):
    """`repeat`, `persist` or `loop`, with or without a number."""

    kind: str
    body: Correlation
    count: int | None = None


@record
class Parallel(Correlation):
    parts: tuple[Correlation, ...]


@record
class Mode(Node):
    guard: str
    body: Correlation


@record
class Modes(Correlation):
    modes: tuple[Mode, ...]
