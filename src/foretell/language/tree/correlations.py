"""Correlation expressions of CORRELATE."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.language.tree.nodes import Node


class Correlation(Node):
    pass


@dataclass(frozen=True)
class On(Correlation):
    """A predicate: the first event that satisfies the step."""

    step: str


@dataclass(frozen=True)
class Accumulate(Correlation):
    parts: tuple[Correlation, ...]


@dataclass(frozen=True)
class Select(Correlation):
    """`select{...}`; strict is `select*{...}`, which fails when one part fails."""

    parts: tuple[Correlation, ...]
    strict: bool = False


@dataclass(frozen=True)
class Sequential(Correlation):
    parts: tuple[Correlation, ...]


@dataclass(frozen=True)
class Unless(Correlation):
    body: Correlation
    stopper: Correlation


@dataclass(frozen=True)
class Fail(Correlation):
    body: Correlation


@dataclass(frozen=True)
class Push(Correlation):
    token: str
    body: Correlation


@dataclass(frozen=True)
class Again(Correlation):
    """`repeat`, `persist` or `loop`, with or without a number."""

    kind: str
    body: Correlation
    count: int | None = None


@dataclass(frozen=True)
class Parallel(Correlation):
    parts: tuple[Correlation, ...]


@dataclass(frozen=True)
class Mode(Node):
    guard: str
    body: Correlation


@dataclass(frozen=True)
class Modes(Correlation):
    modes: tuple[Mode, ...]
