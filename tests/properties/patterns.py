"""Random programs with input for them, as texts: what a subscriber might write, and much that nobody would.

A pattern is drawn as a tree, then its conditions, which may name any of its steps, so that the tree has to be there.
What the reference would take too long for is cut down beforehand: it tries every combination.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from hypothesis import strategies as st

Drawn = TypeVar("Drawn")
Row = dict[str, Any]

MOST_EVENTS = 14
MOST_COST = 20_000
MOST_COST_OF_LANES = 3_000
MOST_DERIVED = 30
EPOCH = datetime(2024, 5, 1, tzinfo=UTC)
COLUMNS = "kind STRING, v INT, w FLOAT, g STRING, f BOOL, n STRING, at TIMESTAMP"
#: The same attributes, worked out of columns with other names, of which random rows have those without an underscore.
DERIVED = {
    "v": ("v_ INT", "v AS v_"),
    "w": ("w_ FLOAT", "w AS CASE WHEN w_ > 2 THEN w_ ELSE w_ END"),
    "g": ("g_ STRING", "g AS substr(g_, 1)"),
    "f": ("f_ BOOL", "f AS f_ = TRUE"),
}
TEXTS = ("", "a", "ab", "b", "Abc", "größe")
SIGNS = ("=", "<>", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Case:
    """A program and its input, as the engines take them."""

    text: str
    streams: dict[str, list[Row]]
    tables: dict[str, list[Row]] = field(default_factory=dict)
    until: int | float | None = None
    time: str = "INT"

    def __repr__(self) -> str:
        rows = "\n".join(f"  {name}: {row}" for name, streams_given in self.streams.items() for row in streams_given)
        tables = f"\n  tables={self.tables}" if self.tables else ""
        return f"\n{self.text}\n{rows}{tables}\n  until={self.until}\n"


@dataclass(frozen=True)
class Node:
    """A part of a pattern. `form` is step, numbered, sequence, repeat, all, any, first or last."""

    form: str
    parts: tuple[Node, ...] = ()
    name: str = ""
    operators: tuple[str, ...] = ()
    absent: tuple[tuple[str, ...], ...] = ()
    quantifier: str = ""
    under: str = ""

    def walk(self) -> Iterator[Node]:
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True)
class Chance:
    """All that is drawn comes from whole numbers: Hypothesis gives them, or any generator of random numbers."""

    number: Callable[[int, int], int]

    def pick(self, *options: Drawn) -> Drawn:
        return options[self.number(0, len(options) - 1)]

    def maybe(self, percent: int) -> bool:
        return self.number(0, 99) >= 100 - percent

    def shuffled(self, group: list[Drawn]) -> list[Drawn]:
        rest, shuffled = list(group), []
        while rest:
            shuffled.append(rest.pop(self.number(0, len(rest) - 1)))
        return shuffled


@dataclass
class Step:
    name: str
    negated: bool = False
    repeated: bool = False
    numbered: bool = False


@dataclass(frozen=True)
class Focus:
    """Which forms are drawn more often than others, with their chances in percent.

    Some differences between engines need two or three rare forms in one statement; a focus makes these common.
    """

    sides: bool = False
    numbered: int = 9
    chosen: int = 8
    edge: int = 8
    branch: int = 10
    theta: int = 40
    plain: int = 0

    @property
    def forms(self) -> list[str]:
        if self.sides:
            return ["sequence"] * 4 + ["repeat"] * 5 + ["all"] * 5
        return ["sequence"] * 4 + ["repeat"] * 2 + ["all"] * 2 + ["any"] * (1 if self.edge == Focus.edge else 3)


EVERYTHING = Focus()
#: Negations at the edges that compare with optional steps, repetitions in sides of `&` under θ, FIRST and LAST.
FOCUSES = (
    Focus(edge=60, branch=60, plain=70),
    Focus(sides=True, theta=85, plain=70),
    Focus(numbered=0, chosen=60, plain=50),
    Focus(numbered=0, chosen=50, edge=35, branch=60, plain=50),
)


class Maker:
    """Draws one statement."""

    def __init__(
        self, chance: Chance, time: str, events: int, table: bool, focus: Focus = EVERYTHING, most_cost: int = MOST_COST
    ) -> None:
        self.focus, self.most_cost = focus, most_cost
        self.light = chance.maybe(40)
        self.pick, self.maybe, self.number = chance.pick, chance.maybe, chance.number
        self.time, self.events, self.table = time, events, table
        self.free = list("abcdeijklopqryzABCDEIJKLOPQRYZ")
        self.steps: dict[str, Step] = {}
        self.variables: dict[str, list[str]] = {}
        self.before: list[str] = []

    # ── patterns ──

    def named(self, *, negated: bool = False, repeated: bool = False) -> str:
        name = self.free.pop(0)
        self.steps[name] = Step(name, negated, repeated)
        return name

    def whole(self, depth: int) -> Node:
        """A whole pattern. Of a focus it is a sequence, or several beside each other."""
        if self.focus is EVERYTHING:
            return self.pattern(depth, edge=True)
        if self.maybe(self.focus.branch // 2):
            return Node("any", tuple(self.sequence(1, repeated=False, edge=True) for _ in range(2)))
        return self.sequence(min(depth, 3) - 1, repeated=False, edge=True)

    def pattern(self, depth: int, *, repeated: bool = False, edge: bool = False) -> Node:
        forms = ["step"] * (1 if depth == 4 else 3)
        if depth > 0 and len(self.free) > 25:
            forms += self.focus.forms
        match self.pick(*forms):
            case "sequence":
                return self.sequence(depth, repeated=repeated, edge=edge)
            case "repeat":
                quantifiers = "?", "*", "+", "+", "{2}", "{1,2}", "{2,}", "{0,2}", "{1}", "{0,1}"
                quantifier = self.pick(*(("+", "{1,2}", "{1,2}", "{0,2}") if self.focus.sides else quantifiers))
                again = repeated or quantifier not in ("?", "{1}", "{0,1}")
                under = "" if self.focus.sides else self.pick("", "", "", ",", ";", ";{}")
                inner = self.pattern(depth - 1 if self.maybe(40) else 0, repeated=again)
                return Node("repeat", (inner,), quantifier=quantifier, under=under)
            case "all":
                return Node("all", tuple(self.pattern(depth - 1, repeated=repeated) for _ in range(self.number(2, 2))))
            case "any":
                parts = [self.pattern(depth - 1, repeated=repeated, edge=edge) for _ in range(self.number(2, 3))]
                return Node("any", tuple(parts))
        if self.maybe(self.focus.numbered) and not repeated:
            name = self.named()
            self.steps[name].numbered = True
            return Node("numbered", name=name, quantifier=f"[{self.number(1, 3)}]")
        if not repeated and self.maybe(self.focus.chosen):
            return Node(self.pick("first", "last"), name=self.named())
        return Node("step", name=self.named(repeated=repeated))

    def sequence(self, depth: int, *, repeated: bool, edge: bool) -> Node:
        count = self.number(2, 3)
        parts, operators, absent = [], [""], [self.absent(self.focus.edge if edge else 0)]
        for i in range(count):
            inner_edge = edge and ((i == 0 and not absent[0]) or i == count - 1)
            if self.focus.sides and not i and self.maybe(60):
                again = Node(
                    "repeat", (Node("step", name=self.named(repeated=True)),), quantifier=self.pick("+", "{1,2}")
                )
                parts.append(Node("all", (again, self.pattern(depth - 1, repeated=repeated))))
            else:
                inside = inner_edge and self.maybe(self.focus.branch)
                parts.append(self.pattern(depth - 1, repeated=repeated, edge=inside))
            if i < count - 1:
                operators.append(";{}" if self.focus.sides else self.pick(",", ";", ";", ";{}"))
                absent.append(() if operators[-1] == "," else self.absent(20))
        absent.append(self.absent(self.focus.edge if edge else 0))
        return Node("sequence", tuple(parts), operators=tuple(operators), absent=tuple(absent))

    def absent(self, percent: int) -> tuple[str, ...]:
        if len(self.free) <= 22 or not percent or not self.maybe(percent):
            return ()
        return tuple(self.named(negated=True) for _ in range(2 if self.maybe(15) else 1))

    def cost(self, node: Node, under: str = ",") -> float:
        """About how many combinations the reference tries, as a power of two."""
        each = math.log2(max(2.0, self.events * 0.6))
        match node.form:
            case "sequence":
                operators = [o or node.operators[1] for o in node.operators]
                return sum(self.cost(p, o) * (0.6 if o == "," else 1.0) for p, o in zip(node.parts, operators))
            case "all":
                return sum(self.cost(p, under) for p in node.parts)
            case "any":
                return max(self.cost(p, under) for p in node.parts) + 1
            case "repeat":
                inner = self.cost(node.parts[0], under)
                if node.quantifier in ("?", "{1}", "{0,1}"):
                    return inner
                if node.quantifier in ("{2}", "{1,2}", "{0,2}"):
                    return 2 * inner
                if (node.under or under) == "," and node.parts[0].name:
                    return 2.5 * inner
                return max(self.events * 1.1, 3 * inner)
        return each

    def text(self, node: Node, *, top: bool = False) -> str:
        match node.form:
            case "step" | "numbered":
                self.before.append(node.name)
                return node.name + node.quantifier + self.further(node.name, 10)
            case "first" | "last":
                self.before.append(node.name)
                return f"{node.form.upper()} {node.name}" + self.further(node.name, 10)
            case "repeat":
                inner = node.parts[0]
                body = inner.name if inner.form == "step" else f"({self.text(inner)})"
                if inner.form in ("first", "last") and self.maybe(50):
                    return f"{inner.form.upper()} {inner.name}{node.quantifier}" + self.further(inner.name, 10)
                under = ""
                if inner.form == "step":
                    self.before.append(inner.name)
                if node.under:
                    under = f"<{self.operator(node.under)}>"
                return f"{body}{node.quantifier}{under}" + (self.further(inner.name, 10) if inner.name else "")
            case "all" | "any":
                sign = " & " if node.form == "all" else " | "
                return sign.join(self.inside(p, top=top and node.form == "any") for p in node.parts)
        words: list[str] = []
        for i, part in enumerate(node.parts):
            words += [f"!{name}{self.further(name, 10)} ;" for name in node.absent[i]] if i == 0 else []
            if i:
                words += [f"; !{name}{self.further(name, 10)}" for name in node.absent[i]]
                words.append(self.operator(node.operators[i]))
            words.append(self.inside(part))
        words += [f"; !{name}{self.further(name, 10)}" for name in node.absent[-1]]
        return " ".join(words)

    def inside(self, node: Node, *, top: bool = False) -> str:
        text = self.text(node, top=top)
        bare = node.form in ("step", "numbered", "first", "last", "repeat") or (top and node.form == "sequence")
        return text if bare else f"({text})"

    def operator(self, form: str) -> str:
        if form != ";{}":
            return form
        return f";{{{self.where()}}}"

    def further(self, name: str, percent: int) -> str:
        return f" @({self.between(name)})" if self.maybe(percent) else ""

    # ── conditions ──

    def span(self, low: int = 0, high: int = 6) -> str:
        number = self.number(low, high)
        if self.time == "TIMESTAMP":
            return f"{number} s"
        if self.time == "FLOAT" and self.maybe(50):
            return self.pick(f"{number}.5", f"0.{number + 1}")
        return str(number)

    def static(self) -> str:
        number = self.number(0, 3)
        return self.pick(
            f"v {self.pick(*SIGNS)} {number}",
            f"w {self.pick(*SIGNS)} {number}.5",
            f"v IN ({number}, {number + 1})",
            f"v NOT IN ({number}, NULL)",
            f"v BETWEEN {number} AND {number + 1}",
            f"{self.pick('v', 'w', 'g', 'f', 'n')} IS {self.pick('', 'NOT ')}NULL",
            "f",
            "NOT f",
            "f OR v > 1",
            f"n LIKE '{self.pick('a%', '%b_', '_', '%')}'",
            f"contains(n, '{self.pick('a', 'b', '')}')",
            "lower(n) = 'abc'",
            "length(n) > 1",
            f"stream = '{self.pick('s', 'u', 'm1')}'",
            f"v % 2 = {number % 2}",
            f"w / v > {number}",
            "at > TIMESTAMP '2024-05-01T00:00:04'",
            f"regexp_like(n, '{self.pick('^a', 'b', '[A-Z]', '.ö')}')",
            f"substr(n, {self.pick('1, 1', '2', '-1', 'v, 2')}) {self.pick('=', '<')} 'b'",
            f"{self.pick('starts', 'ends')}_with(n, '{self.pick('a', 'b')}')",
            f"round(w) = {number}",
            f"floor(w + {number}.5) {self.pick('<', '>')} 2",
            f"sqrt(v) {self.pick('<', '>=')} pow(w, 2)",
            f"minute(at) + weekday(at, 'Asia/Tokyo') > {number}",
            f"CASE WHEN f THEN v > {number} WHEN w > 1 THEN NULL ELSE v = 1 END",
            f"coalesce(v, w, 1) >= {number}",
            f"v * 2 - {number} < w + 1",
            *(
                [f"v >= :{self.pick('lo', 'hi')}", "w < :hi", "upper(g) = upper(:name)", "contains(n, :name)"]
                if self.table
                else []
            ),
        )

    def kind(self) -> str:
        return self.pick("kind = 'a'", "kind = 'b'", "kind = 'c'", "kind IN ('a', 'b')", "kind <> 'a'")

    def event(self, own: str | None, others: Sequence[str]) -> str:
        """An event that a condition may name."""
        options = [*others, *(f"{self.pick('first', 'last')}({o})" for o in others)]
        if own and self.steps[own].repeated:
            options += [own, f"first({own})", f"last({own})"]
        return self.pick(*options) if options else (own or "prev")

    def time_of(self, event: str) -> str:
        return f"t({event})"

    def between(self, own: str, *, others: Sequence[str] | None = None) -> str:
        """A condition of a step about itself and others."""
        positive = [n for n, s in self.steps.items() if not s.negated and n != own] if others is None else list(others)
        x, y = self.event(own, positive), self.event(own, positive)
        if self.maybe(self.focus.plain):
            return self.pick(f"g = {x}.g", f"f = {x}.f", f"v {self.pick('=', '>=')} {x}.v", *self.agreeing(own))
        group = self.pick(own, own, *positive) if own in self.steps else self.pick(*positive, "prev")
        if self.steps.get(own, Step("")).negated and group == own:
            group = self.pick(*positive, "prev")
        sign = self.pick(*SIGNS)
        options = [
            f"v {sign} {x}.v",
            f"w {sign} {x}.w + {self.number(0, 2)}",
            f"kind {self.pick('=', '<>')} {x}.kind",
            f"g = {x}.g",
            f"n {sign} {x}.n",
            f"contains(n, {x}.n)",
            f"n LIKE {x}.n",
            f"lower(n) = {self.pick('lower', 'upper')}(coalesce({x}.n, {y}.n, 'Abc'))",
            f"coalesce({x}.v, 1) {sign} v",
            f"{x}.v IS NULL OR v {sign} {x}.v",
            f"{x}.v IS NOT NULL",
            f"NOT ({x}.f AND f)",
            f"v + {x}.v {sign} {y}.v * 2",
            f"{x}.v BETWEEN {y}.v AND v",
            f"v IN ({x}.v, {y}.v)",
            f"{x}.v {sign} {self.number(0, 3)}",
            f"v {sign} prev.v",
            f"w {sign} prev.w",
            f"prev.kind {self.pick('=', '<>')} kind",
            f"prev.v IS {self.pick('', 'NOT ')}NULL",
            f"duration {sign} {self.span()}",
            f"{self.time_of(self.pick(x, 'prev'))} {sign} {self.time_of(y)}",
            f"abs({self.time_of(x)} - {self.time_of(y)}) {sign} {self.span()}",
            f"at {sign} {x}.at",
            f"at - {x}.at < {self.number(0, 5)} s",
            f"stream {self.pick('=', '<>')} {self.pick(x, 'prev')}.stream",
            f"CASE WHEN f THEN v {sign} {x}.v WHEN {y}.f THEN {y}.v > 1 ELSE {x}.w < w END",
            f"CASE WHEN v > {x}.v THEN n WHEN {y}.f THEN {x}.n END {self.pick('=', '<>')} {y}.n",
            f"sqrt(pow(v - {x}.v, 2) + pow(w - {y}.w, 2)) {sign} 1",
            f"round(w + {x}.w, {self.pick(0, 1, -1)}) {sign} {y}.v",
            f"floor(w * {x}.w) {sign} ceil({y}.w)",
            f"exp(v - {x}.v) {sign} ln({y}.w + w)",
            f"{self.pick('starts', 'ends')}_with(n, {x}.n)",
            f"substr(n, {x}.v) {sign} {y}.n",
            f"contains(n, substr({x}.n, {y}.v, v))",
            f"lower(substr(n, {x}.v, 2)) = lower({y}.n)",
            f"regexp_like(coalesce({x}.n, {y}.n, n), 'a|ö')",
            f"regexp_like(CASE WHEN v > {x}.v THEN n ELSE substr({y}.n, v) END, '^.b?$')",
            f"minute(at + ({x}.at - {y}.at)) {sign} {self.number(0, 1)}",
            f"hour(at + ({x}.at - {y}.at), 'Asia/Kolkata') {sign} 5",
        ]
        if group != "prev":
            options += [
                f"count({group}) {sign} {self.number(0, 3)}",
                f"count({group}.v) {sign} {self.number(0, 2)}",
                f"v {sign} avg({group}.v)",
                f"w {sign} avg({group}.w)",
                f"sum({group}.v) {sign} {self.number(0, 8)}",
                f"sum({group}.w) < {self.number(0, 8)}",
                f"{self.pick('min', 'max')}({group}.{self.pick('v', 'w')}) {sign} v",
                f"coalesce(max({group}.at), at) {sign} at",
                f"v {sign} sum({group}.v) OR count({group}) = 0",
                f"{self.pick('min', 'max')}({group}.n) {sign} n",
                f"{self.pick('lower', 'upper')}(max({group}.n)) {self.pick('=', '<>')} lower(n)",
                f"substr(max({group}.n), 1, 1) = substr(n, 1, 1)",
                f"regexp_like(min({group}.n), '^[ab]')",
                f"round(avg({group}.w), 1) {sign} w",
            ]
        bound = [v for v, steps in self.variables.items() if own or set(steps) & set(self.before)]
        if bound:
            variable = self.pick(*bound)
            options += [f"v {sign} ${variable}" if variable != "k" else f"kind {self.pick('<>', '<')} ${variable}"] * 4
            options += [f"upper(kind) <> upper(${variable})"] if variable == "k" else []
        return self.pick(*options)

    def agreeing(self, own: str) -> list[str]:
        """Comparisons with the variables that a condition may name."""
        bound = [v for v, steps in self.variables.items() if own or set(steps) & set(self.before)]
        return [f"{'kind' if variable == 'k' else 'v'} = ${variable}" for variable in bound]

    def binder(self, own: str) -> str:
        """A condition that binds a variable."""
        values = [("x", "v"), ("x", "v"), ("k", "kind"), ("k", "kind"), ("x", "v + 1"), ("x", "coalesce(v, 1)")]
        if self.steps[own].negated:
            values = [(n, v) for n, v in values if n in self.variables] or [("", "kind")]
        name, value = self.pick(*values)
        if not name:
            return self.kind()
        if not self.steps[own].negated:
            self.variables.setdefault(name, []).append(own)
        return self.pick(f"${name} = {value}", f"{value} = ${name}")

    def where(self) -> str:
        """θ: about an event, and what is bound before."""
        if self.before and self.maybe(self.focus.theta):
            return self.between("", others=self.before[-2:])
        return self.pick(self.kind, self.static)()

    def definition(self, step: Step) -> str:
        always = 88 if step.repeated else 80
        parts = [self.kind()] if self.maybe(always // 2 if self.focus is not EVERYTHING else always) else []
        if self.table and self.maybe(40):
            parts.append(
                self.pick("v >= :lo", "w < :hi", "g = :name", ":lo <= v", "v = :lo", "n >= :name", "w > :hi + 1")
            )
        if step.negated and self.maybe(self.focus.plain):
            return self.between(step.name)
        if self.light and self.maybe(75):
            return " AND ".join(parts)
        if self.maybe(10):
            parts.append(self.static())
        if self.maybe(20):
            parts.append(self.binder(step.name))
        for _ in range(self.pick(0, 0, 0, 1, 1, 2) if len(self.steps) > 2 else self.pick(0, 1, 1, 2)):
            earlier = [n for n in list(self.steps)[: list(self.steps).index(step.name)] if not self.steps[n].negated]
            # Of a numbered step, what follows it is an error; a side of `&` or a branch after it is not.
            condition = self.between(step.name, others=earlier if step.numbered and self.maybe(70) else None)
            parts.append(f"({condition})" if " OR " in condition else condition)
        return " AND ".join(parts)

    # ── the statement ──

    def statement(self, name: str, sources: Sequence[str], *, used: bool, lane: str = "") -> str:
        """The text of a statement; `lane` is the attribute of PER, if it is not to be drawn."""
        if not lane and self.maybe(6):
            return self.silence(name, sources, used=used)
        pattern = self.whole(4)
        while self.cost(pattern) > math.log2(self.most_cost):
            self.free, self.steps = list("abcdeijklopqryzABCDEIJKLOPQRYZ"), {}
            pattern = self.whole(2)
        definitions = {n: self.definition(s) for n, s in self.steps.items()}
        match = self.text(pattern, top=True)
        defined = ", ".join(f"{n} AS {c}" for n, c in definitions.items() if c)
        after = self.policy(list(self.steps.values())) if self.maybe(45) else ""
        edges = after == "LONGEST" or any(
            n.form == "last" or (n.form == "sequence" and (n.absent[0] or n.absent[-1])) for n in pattern.walk()
        )
        text = f"SUBSCRIBE {name}{' FOR EACH people' if self.table else ''} FROM {', '.join(sources)}"
        per = f" PER {lane}" if lane else self.pick("", "", "", " PER g", " PER kind", " PER g, f", " PER stream")
        text += f"{per}\nMATCH {match}"
        text += f"\nDEFINE {defined}" if defined else ""
        if edges or self.maybe(35):
            text += f"\nWITHIN {self.span(1, 9)}"
        positive = [n for n, s in self.steps.items() if not s.negated]
        if self.maybe(20):
            text += f"\nHAVING {self.finally_(positive)}"
        if after:
            text += f"\nAFTER MATCH {after}"
        if used or self.maybe(40):
            text += f"\nRETURN {self.returned(positive, used=used)}"
        return text + ";"

    def silence(self, name: str, sources: Sequence[str], *, used: bool) -> str:
        per = self.pick("", " PER g")
        absent = " ; ".join(["!a", "!b"][: self.number(1, 2)])
        steps = [n for n in "ab" if f"!{n}" in absent]
        defined = ", ".join(f"{n} AS {self.pick(self.kind, self.static)()}" for n in steps)
        head = f"SUBSCRIBE {name}{' FOR EACH people' if self.table else ''} FROM {', '.join(sources)}{per}"
        text = f"{head}\nMATCH {absent}\nDEFINE {defined}\nWITHIN {self.span(1, 9)}"
        if used:
            moment = "TIMESTAMP '2024-05-01T00:00:05Z'"
            text += f"\nRETURN 'b' AS kind, 2 AS v, 1.5 AS w, 'p' AS g, TRUE AS f, 'ab' AS n, {moment} AS at"
        elif self.maybe(30):
            text += "\nRETURN duration AS d, 'x' AS y"
        return f"{text};"

    def policy(self, steps: Sequence[Step]) -> str:
        step = self.pick(*(s.name for s in steps if not s.negated))
        skips = "SKIP PAST LAST", "SKIP TO NEXT", f"SKIP TO FIRST {step}", f"SKIP TO LAST {step}"
        return self.pick("HOLD", "CONSUME", "LONGEST", "LONGEST", *skips)

    def finally_(self, positive: Sequence[str]) -> str:
        x, y, step = self.event(None, positive), self.event(None, positive), self.pick(*positive)
        sign = self.pick(*SIGNS)
        options = [
            f"{x}.v {sign} {y}.v",
            f"coalesce({x}.w, 1) {sign} 1",
            f"duration {sign} {self.span()}",
            f"count({step}) {sign} {self.number(0, 3)}",
            f"avg({step}.v) {sign} {x}.v",
            f"sum({step}.w) {sign} 3",
            f"max({step}.n) <> 'ab'",
            f"t({x}) - t({y}) {sign} {self.span()}",
            f"{x}.v IS NULL",
            f"CASE WHEN {x}.f THEN {y}.v > 1 ELSE duration > {self.span()} END",
            f"regexp_like(upper({x}.n), '[A-Z]B?')",
        ]
        if self.variables:
            options.append(f"${self.pick(*self.variables)} IS {self.pick('', 'NOT ')}NULL")
        return self.pick(*options)

    def returned(self, positive: Sequence[str], *, used: bool) -> str:
        x, step = self.event(None, positive), self.pick(*positive)
        time = f"t({x})" if self.time == "TIMESTAMP" else f"{x}.at"
        whole = self.pick(f"{x}.v", f"count({step})", f"sum({step}.v)", f"max({step}.v) + 1", f"count({step}.w)")
        broken = self.pick(
            f"{x}.w",
            f"avg({step}.v)",
            f"sum({step}.w)",
            f"min({step}.w) / {x}.v",
            f"{x}.v / 2",
            f"round(sqrt({x}.w), 2)",
            f"CASE WHEN {x}.f THEN 1 ELSE {x}.w END",
        )
        columns = {
            "kind": self.pick(f"{x}.kind", f"coalesce({x}.kind, 'c')", "'b'"),
            "v": "$x" if "x" in self.variables and self.maybe(30) else whole,
            "w": broken,
            "g": self.pick(f"{x}.g", f"{x}.n", f"max({step}.g)"),
            "f": self.pick(f"{x}.f", f"{x}.v > 1", f"{x}.n LIKE 'a%'"),
            "n": self.pick(f"{x}.n", f"lower({x}.n)", f"upper({x}.n)", f"substr({x}.n, count({step}))"),
            "at": self.pick(time, f"max({step}.at)"),
        }
        if not used:
            columns["t"] = f"t({x})"
            columns["d"] = "duration"
            columns = {n: e for n, e in columns.items() if self.maybe(40)} or {"v": columns["v"]}
        return ", ".join(f"{expression} AS {name}" for name, expression in columns.items())


# ── input ──


def random_rows(chance: Chance, count: int, time: str, *, order: bool, named: bool) -> list[Row]:
    rows: list[Row] = []
    now: float = 0
    scale = chance.pick(1, 1, 1, 2) * (chance.pick(0.5, 0.1) if time == "FLOAT" else 1)
    wild = chance.maybe(5)
    for number in range(count):
        now += chance.pick(0, 1, 1, 1, 2, 3) * scale
        row: Row = {
            "time": moment(now, time),
            "kind": chance.pick("a", "b", "c", "a", "b", "c", "x"),
            "v": chance.pick(0, 1, 2, 3, 1, 2, None) if not wild else chance.pick(2**63 - 1, -(2**63), 1),
            "w": chance.pick(0.0, 0.5, 1.5, 2.5, None) if not wild else chance.pick(1.7e308, -0.0, 0.0, -1e308),
            "g": chance.pick("p", "p", "q", None),
            "f": chance.pick(True, False, None),
            "n": chance.pick(*TEXTS, None),
            "at": chance.pick(moment(chance.number(0, 9), "TIMESTAMP"), None),
        }
        if order:
            row["seq"] = chance.pick(0, 1, 2, None)
        if named:
            row["id"] = chance.pick(number + 100, None)
        rows.append(row)
    return chance.shuffled(rows) if chance.maybe(30) else rows


def moment(now: float, time: str) -> Any:
    if time == "TIMESTAMP":
        return (EPOCH + timedelta(seconds=now)).isoformat().replace("+00:00", "Z")
    return float(now) if time == "FLOAT" else int(now)


def case(chance: Chance, most_events: int = MOST_EVENTS) -> Case:
    """A program of one to three statements, with its input."""
    time = chance.pick("INT", "INT", "FLOAT", "TIMESTAMP")
    second, ties = chance.maybe(25), " TIES SIMULTANEOUS" if chance.maybe(20) else ""
    streams, declarations = {}, []
    left = most_events
    for name in ["s", "u"] if second else ["s"]:
        order, named = chance.maybe(20), chance.maybe(20)
        count = chance.number(0 if second else 1, left if name == "s" else min(left, 6))
        count = max(count, chance.number(0, left)) if name == "s" else count
        left -= count
        streams[name] = random_rows(chance, count, time, order=order, named=named)
        columns = f"time {time}, {COLUMNS}" + (", seq INT" if order else "") + (", id INT" if named else "")
        options = (" ID id" if named else "") + (" ORDER BY seq" if order else "") + ties
        if chance.maybe(15):
            columns, lets = derived(chance, columns, streams[name])
            options += f" LET {', '.join(lets)}"
        declarations.append(f"STREAM {name} ({columns}) TIME time{options};")
    events = sum(len(streams_given) for streams_given in streams.values())
    sources = [["s"], ["s"], ["u", "s"] if second else ["s"]]
    count = chance.pick(1, 1, 1, 2, 3)
    table = chance.maybe(16)
    texts: list[str] = []
    read: set[str] = set()
    for number in range(1, count + 1):
        mine = chance.pick(*sources)
        count_of = MOST_DERIVED if any(n.startswith("m") for n in mine) else events
        focus = chance.pick(*FOCUSES) if chance.maybe(25) else EVERYTHING
        maker = Maker(chance, time, count_of, table and number == 1, focus)
        read.update(mine)
        texts.append(maker.statement(f"m{number}", mine, used=number < count))
        sources += [[f"m{number}"], [f"m{number}", "s"], [f"m{number}", "s"]]
    streams = {n: rows for n, rows in streams.items() if n in read}
    declarations = [d for d in declarations if d.split()[1] in read]
    return Case(
        "\n".join([*declarations, *texts]), streams, _tables(chance) if table else {}, _until(chance, time), time
    )


def case_of_lanes(chance: Chance, lanes: int, most_events: int = 7) -> Case:
    """One statement of a focus on many short lanes, so that it is planned once for many streams."""
    maker = Maker(chance, "INT", most_events, False, chance.pick(*FOCUSES), MOST_COST_OF_LANES)
    text = maker.statement("m", ["s"], used=False, lane="lane")
    rows: list[Row] = []
    now = 0
    for _ in range(most_events):
        present = [lane for lane in range(lanes) if chance.maybe(80)]
        moments = random_rows(chance, len(present), "INT", order=False, named=False)
        late = chance.pick(0, 0, 1, 2)
        for lane, row in zip(chance.shuffled(present), moments, strict=True):
            rows.append({**row, "time": now + (late if chance.maybe(30) else 0), "lane": lane})
        now += late + chance.pick(0, 1, 1, 2)
    rows.sort(key=lambda row: row["time"])
    ties = " TIES SIMULTANEOUS" if chance.maybe(15) else ""
    declaration = f"STREAM s (time INT, {COLUMNS}, lane INT) TIME time{ties};"
    return Case(f"{declaration}\n{text}", {"s": rows}, until=chance.pick(None, now + chance.number(0, 9), 60))


def derived(chance: Chance, columns: str, rows: list[Row]) -> tuple[str, list[str]]:
    """Some columns under other names, of which LET makes them again; returns the columns and what LET says."""
    lets: list[str] = []
    for name, (stored, let) in DERIVED.items():
        if chance.maybe(50) or (name == "f" and not lets):
            columns = columns.replace(f", {stored.replace('_', '')}", f", {stored}")
            lets.append(let)
            for row in rows:
                row[f"{name}_"] = row.pop(name)
    return columns, lets


def _until(chance: Chance, time: str) -> int | float | None:
    if chance.maybe(50):
        return None
    if time == "TIMESTAMP":
        return int((EPOCH + timedelta(seconds=60)).timestamp()) * 1_000_000
    return 60.0 if time == "FLOAT" else 60


def _tables(chance: Chance) -> dict[str, list[Row]]:
    rows = [
        {
            "id": number,
            "lo": chance.pick(0, 1, 2, None),
            "hi": chance.pick(0.5, 1.5, 2.5, None),
            "name": chance.pick("p", "q", "a", None),
        }
        for number in range(chance.number(1, 3))
    ]
    # The first row says what the columns are.
    return {"people": [{"id": -1, "lo": 1, "hi": 1.5, "name": "p"}, *rows]}


@st.composite
def cases(draw: Callable[[st.SearchStrategy[int]], int], most_events: int = MOST_EVENTS) -> Case:
    return case(Chance(lambda low, high: draw(st.integers(low, high))), most_events)
