"""The tree of a program: what the text says, nothing more.

Every node is a frozen value. Where it stood in the text is kept for errors but is no part of the value: two texts
that say the same have equal trees, however they are laid out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import NoReturn

from foretell.errors import NOWHERE, Place, refuse
from foretell.events.types import Type


class Name(str):
    """A name as written, with its place. It equals the plain string."""

    place: Place

    def __new__(cls, text: str, place: Place = NOWHERE) -> Name:
        name = super().__new__(cls, text)
        name.place = place
        return name


def place_of(name: str) -> Place:
    return name.place if isinstance(name, Name) else NOWHERE


def defined_twice(what: str, place: Place, first: Place) -> NoReturn:
    refuse("defined-twice", f"{what} is defined twice", place, f"the first one is at {first.line}:{first.column}")


@dataclass(frozen=True)
class Node:
    place: Place = field(default=NOWHERE, compare=False, repr=False, kw_only=True)

    def children(self) -> Iterator[Node]:
        """The nodes directly below this one, in the order of the text."""
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, tuple):
                yield from (v for v in value if isinstance(v, Node))

    def walk(self) -> Iterator[Node]:
        """This node and all below it, in the order of the text."""
        yield self
        for child in self.children():
            yield from child.walk()


# ── Expressions ────────────────────────────────────────────────────────────────────────────────────────────────────


class Expression(Node):
    pass


class EventReference(Node):
    """Something that stands for one event of the match."""


@dataclass(frozen=True)
class This(EventReference):
    """The event being tried: what a bare attribute speaks of."""


@dataclass(frozen=True)
class BoundEvent(EventReference):
    """`x`: the event bound to step x; for a repeated step its latest."""

    step: str


@dataclass(frozen=True)
class FirstOf(EventReference):
    step: str


@dataclass(frozen=True)
class LastOf(EventReference):
    step: str


@dataclass(frozen=True)
class Previous(EventReference):
    """`prev`: the event bound just before this one in the match."""


@dataclass(frozen=True)
class Literal(Expression):
    value: bool | int | float | str | None

    def __eq__(self, other: object) -> bool:
        # 1, 1.0 and TRUE are equal in Python but not the same text.
        return isinstance(other, Literal) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


UNITS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "min": 60_000_000,
    "hours": 3_600_000_000,
    "days": 86_400_000_000,
    "weeks": 604_800_000_000,
}


@dataclass(frozen=True)
class Span(Expression):
    """A length of time with its unit, such as `5 min`."""

    amount: int | float
    unit: str

    @property
    def micros(self) -> int:
        return round(self.amount * UNITS[self.unit])


@dataclass(frozen=True)
class Moment(Expression):
    """`TIMESTAMP '2007-02-14 12:38:10'`, in microseconds since 1970 UTC."""

    micros: int


@dataclass(frozen=True)
class Variable(Expression):
    name: str


@dataclass(frozen=True)
class Parameter(Expression):
    """`:column` of a FOR EACH row."""

    name: str


@dataclass(frozen=True)
class Attribute(Expression):
    event: EventReference
    name: str


@dataclass(frozen=True)
class StreamOf(Expression):
    """The pseudo-attribute `stream`."""

    event: EventReference


@dataclass(frozen=True)
class TimeOf(Expression):
    """`t(x)`."""

    event: EventReference


@dataclass(frozen=True)
class Elapsed(Expression):
    """`duration`: from the first to the last event of the match so far."""


@dataclass(frozen=True)
class Aggregate(Expression):
    """`count(b)`, `sum(b.price)` and the like over the events of a step."""

    function: str
    step: str
    attribute: str | None = None


@dataclass(frozen=True)
class Unary(Expression):
    operator: str
    operand: Expression


@dataclass(frozen=True)
class Binary(Expression):
    operator: str
    left: Expression
    right: Expression


#: The comparison operator that says the same with its operands exchanged.
MIRRORED_COMPARISON: Mapping[str, str] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class In(Expression):
    value: Expression
    options: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True)
class Between(Expression):
    value: Expression
    low: Expression
    high: Expression
    negated: bool = False


@dataclass(frozen=True)
class Like(Expression):
    value: Expression
    pattern: Expression
    negated: bool = False


@dataclass(frozen=True)
class IsNull(Expression):
    value: Expression
    negated: bool = False


@dataclass(frozen=True)
class Call(Expression):
    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class EventValue(Expression):
    """`first(b)` where a value is wanted: parsed, so that the checks can say what is missing."""

    event: EventReference


def conjuncts(condition: Expression) -> Iterator[Expression]:
    """The parts of a condition that must all hold."""
    if isinstance(condition, Binary) and condition.operator == "AND":
        yield from conjuncts(condition.left)
        yield from conjuncts(condition.right)
    else:
        yield condition


# ── Patterns ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Operator(Node):
    """What leads from one part of a sequence to the next."""


@dataclass(frozen=True)
class Next(Operator):
    """`,`: the very next event."""


@dataclass(frozen=True)
class Later(Operator):
    """`;`: any later event."""


@dataclass(frozen=True)
class FirstWhere(Operator):
    """`;{θ}`: the first later event for which θ holds."""

    condition: Expression


class Pattern(Node):
    pass


@dataclass(frozen=True)
class Step(Pattern):
    name: str


@dataclass(frozen=True)
class Numbered(Pattern):
    """`a[i]`: the i-th event that satisfies a."""

    step: Step
    index: int


@dataclass(frozen=True)
class Chosen(Pattern):
    """`FIRST a` or `LAST a`."""

    which: str
    step: Step


@dataclass(frozen=True)
class Conditioned(Pattern):
    """`a @(condition)`."""

    pattern: Pattern
    condition: Expression


@dataclass(frozen=True)
class Repeat(Pattern):
    """`a{low,high}`; high None means without end, `under` None the operator given by where it stands."""

    body: Pattern
    low: int
    high: int | None
    under: Operator | None = None


@dataclass(frozen=True)
class Negation(Node):
    """`!b`, with its `@(...)` conditions."""

    step: Step
    conditions: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class SequencePart(Node):
    """One part of a sequence, with what leads to it: `; !b ; P` is Part(P, Later(), (!b,)).

    The first part has no operator; what is absent there is absent before the match.
    """

    pattern: Pattern
    operator: Operator | None = None
    absent: tuple[Negation, ...] = ()


@dataclass(frozen=True)
class Sequence(Pattern):
    """Parts one after the other; `absent` is what may not come after the last."""

    parts: tuple[SequencePart, ...]
    absent: tuple[Negation, ...] = ()


@dataclass(frozen=True)
class Silence(Pattern):
    """`!b` alone."""

    absent: tuple[Negation, ...]


@dataclass(frozen=True)
class Conjunction(Pattern):
    sides: tuple[Pattern, ...]


@dataclass(frozen=True)
class Alternation(Pattern):
    branches: tuple[Pattern, ...]


def sequence(parts: tuple[SequencePart, ...], absent: tuple[Negation, ...] = (), *, place: Place = NOWHERE) -> Pattern:
    """A sequence in its one form: sequences associate to the left, and one part alone is that part."""
    first = parts[0].pattern
    if isinstance(first, Sequence) and not first.absent and not parts[0].absent:
        parts = (*first.parts, *parts[1:])
    if len(parts) == 1 and not parts[0].absent and not absent:
        return parts[0].pattern
    return Sequence(parts, absent, place=place)


def conjunction(*sides: Pattern, place: Place = NOWHERE) -> Conjunction:
    """`&` of all sides, as one node however they are bracketed."""
    flat = (s.sides if isinstance(s, Conjunction) else (s,) for s in sides)
    return Conjunction(tuple(side for some in flat for side in some), place=place)


def alternation(*branches: Pattern, place: Place = NOWHERE) -> Alternation:
    """`|` of all branches, as one node however they are bracketed."""
    flat = (b.branches if isinstance(b, Alternation) else (b,) for b in branches)
    return Alternation(tuple(branch for some in flat for branch in some), place=place)


# ── Statements ─────────────────────────────────────────────────────────────────────────────────────────────────────


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
class Stream(Statement):
    name: str
    attributes: tuple[Declared, ...]
    time: str
    id: str | None = None
    order: str | None = None
    simultaneous: bool = False
    lateness: Span | Literal | None = None
    losses: tuple[Loss, ...] = ()


@dataclass(frozen=True)
class Definition(Node):
    steps: tuple[str, ...]
    condition: Expression


class Policy(Enum):
    HOLD = "HOLD"
    CONSUME = "CONSUME"
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
    """A loss probability, of the named steps or, without names, of all."""

    probability: float
    steps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Losing(Node):
    items: tuple[LosingItem, ...]
    above: float
    published: bool = False


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


# ── Correlators ────────────────────────────────────────────────────────────────────────────────────────────────────


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
