"""Statements: STREAM, SUBSCRIBE with its clauses, CORRELATE, and the program they make up."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from foretell.events.types import Type
from foretell.language.tree.correlations import Correlation
from foretell.language.tree.expressions import Expression, Literal, Span
from foretell.language.tree.nodes import Node
from foretell.language.tree.patterns import Pattern


class Statement(Node):
    name: str


@dataclass(frozen=True)
class Declared(Node):
    """An attribute in a STREAM statement."""

    name: str
    type: Type


@dataclass(frozen=True)
class Loss(Node):
    """`LOSS 0.05 [WHEN condition]`."""

    probability: float
    condition: Expression | None = None


@dataclass(frozen=True)
class Derived(Node):
    """`LET name AS expression`: an attribute that is worked out from the event's own."""

    name: str
    expression: Expression


@dataclass(frozen=True)
class Stream(Statement):
    name: str
    attributes: tuple[Declared, ...]
    time: str
    id: str | None = None
    order: str | None = None
    simultaneous: bool = False
    lateness: Span | Literal | None = None
    losses: tuple[Loss, ...] = ()
    nulls: tuple[Literal, ...] = ()
    derived: tuple[Derived, ...] = ()


@dataclass(frozen=True)
class Definition(Node):
    steps: tuple[str, ...]
    condition: Expression


class Policy(Enum):
    HOLD = "HOLD"
    CONSUME = "CONSUME"
    LONGEST = "LONGEST"
    SKIP_PAST_LAST = "SKIP PAST LAST"
    SKIP_TO_NEXT = "SKIP TO NEXT"
    SKIP_TO_FIRST = "SKIP TO FIRST"
    SKIP_TO_LAST = "SKIP TO LAST"


@dataclass(frozen=True)
class AfterMatch(Node):
    policy: Policy = Policy.HOLD
    step: str | None = None


@dataclass(frozen=True)
class Returned(Node):
    expression: Expression
    name: str


@dataclass(frozen=True)
class Forecast(Node):
    """`FORECAST WITHIN n EVENTS | duration ABOVE probability`: one of events and duration is set."""

    above: float
    events: int | None = None
    duration: Span | Literal | None = None


@dataclass(frozen=True)
class LosingItem(Node):
    """A loss probability of the named steps; without names, of all steps."""

    probability: float
    steps: tuple[str, ...] = ()


class Score(Enum):
    """How a probability is estimated: given both ends of each gap, regardless of its end, or as AYAC prints it."""

    BOTH_ENDS = "both ends"
    INDEPENDENT = "independent"
    PUBLISHED = "published"


@dataclass(frozen=True)
class Losing(Node):
    items: tuple[LosingItem, ...]
    above: float
    score: Score = Score.BOTH_ENDS


@dataclass(frozen=True)
class Subscription(Statement):
    name: str
    streams: tuple[str, ...]
    pattern: Pattern
    table: str | None = None
    per: tuple[str, ...] = ()
    definitions: tuple[Definition, ...] = ()
    within: Span | Literal | None = None
    having: Expression | None = None
    after: AfterMatch = AfterMatch()
    returns: tuple[Returned, ...] = ()
    forecast: Forecast | None = None
    losing: Losing | None = None


@dataclass(frozen=True)
class Correlator(Statement):
    name: str
    streams: tuple[str, ...]
    expression: Correlation
    per: tuple[str, ...] = ()
    definitions: tuple[Definition, ...] = ()


@dataclass(frozen=True)
class Program(Node):
    statements: tuple[Statement, ...]
