"""Statements: STREAM, SUBSCRIBE with its clauses, CORRELATE, and the program they make up."""

from __future__ import annotations

from enum import Enum

from foretell.events.delays.scores import Score
from foretell.events.types import Type
from foretell.language.tree.correlations import Correlation
from foretell.language.tree.expressions import Expression, Literal, Span
from foretell.language.tree.nodes import Node
from foretell.language.tree.patterns import Pattern
from foretell.records import record


class Statement(Node):
    name: str


@record
class Declared(Node):
    """An attribute in a STREAM statement."""

    name: str
    type: Type


@record
class Loss(Node):
    """`LOSS 0.05 [WHEN condition]`."""

    probability: float
    condition: Expression | None = None


@record
class Derived(Node):
    """`LET name AS expression`: an attribute that is worked out from the event's own."""

    name: str
    expression: Expression


@record
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


@record
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


@record
class AfterMatch(Node):
    policy: Policy = Policy.HOLD
    step: str | None = None


@record
class Returned(Node):
    expression: Expression
    name: str


@record
class Forecast(Node):
    """`FORECAST [OF tokens] WITHIN n EVENTS | duration ABOVE probability`: one of events and duration is set. Only a
    correlator has `tokens`; without them it forecasts any of its tokens."""

    above: float
    events: int | None = None
    duration: Span | Literal | None = None
    tokens: tuple[str, ...] = ()


@record
class LosingItem(Node):
    """A loss probability of the named steps; without names, of all steps."""

    probability: float
    steps: tuple[str, ...] = ()


@record
class Losing(Node):
    items: tuple[LosingItem, ...]
    above: float
    score: Score = Score.BOTH_ENDS


@record
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


@record
class Correlator(Statement):
    name: str
    streams: tuple[str, ...]
    expression: Correlation
    per: tuple[str, ...] = ()
    definitions: tuple[Definition, ...] = ()
    forecast: Forecast | None = None
    table: str | None = None


@record
class Program(Node):
    statements: tuple[Statement, ...]
