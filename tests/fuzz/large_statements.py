"""Large and nasty statements: each is refused, or parsed, checked, planned, explained, run, stored and restored, within
the bounds."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import foretell as ft
from foretell.arguments.model import as_model, delay_models
from foretell.correlate.explanation import explain_correlator
from foretell.errors import ForetellError
from foretell.language.checked import CheckedCorrelator, CheckedSubscription
from foretell.plan.explain import as_text, explain
from foretell.recover.loss_automaton import automaton_text, loss_automaton
from tests.fuzz.losing_statements import losing_statement

STREAM = "STREAM s (time INT, k STRING, v INT, w FLOAT) TIME time;\n"
BATCHES = 10

#: Events of a batch times steps of the statement, at most: an event may match each of a thousand alternatives, and a
#: notification names all steps, so that the answer itself would be as long as the square of the statement.
CELLS = 800

#: So that a statement that keeps everything is stopped while there is room. One with LOSING is planned three times: for
#: the engine, to be explained, and to be restored.
LIMITS = ft.Limits(lane=20_000, engine=50_000, memory="128 MiB", patterns=100, tables=40)


#: Each so many statements have LOSING.
EACH_LOSING = 5


class Writer:
    """Draws a statement. `steps` is what is left of the steps that it may have."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.steps = chance.choice([3, 10, 30, 100, 300, 1000])
        self.names: list[str] = []
        self.deepest = chance.choice([2, 4, 8, 40])

    def statement(self) -> str:
        chance = self.chance
        pattern = self.pattern(0)
        within = f" WITHIN {chance.choice([1, 5, 50, 10**6, 10**15])}" if chance.random() < 0.8 else ""
        after = chance.choice(
            ["", "", "", " AFTER MATCH CONSUME", " AFTER MATCH SKIP PAST LAST", " AFTER MATCH LONGEST"]
        )
        per = chance.choice(["", " PER k"])
        defined = [f"{name} AS {self.condition(name)}" for name in self.names if chance.random() < 0.8]
        define = f" DEFINE {', '.join(defined)}" if defined else ""
        return f"SUBSCRIBE p FROM s{per} MATCH {pattern}{define}{within}{after};"

    def pattern(self, depth: int) -> str:
        chance = self.chance
        if depth >= self.deepest or self.steps <= 1 or chance.random() < 0.15:
            return self.step()
        match chance.randrange(8):
            case 0 | 1:
                operator = chance.choice([" ; ", " , ", " ;{v > 1} ", " ; ", f" ;{{v >= {chance.randrange(3)}}} "])
                parts = self.parts(depth)
                if chance.random() < 0.15 and len(parts) > 1 and operator != " , ":
                    parts.insert(chance.randrange(1, len(parts)), f"!{self.name()}")
                return f"({operator.join(parts)})"
            case 2:
                return f"({' | '.join(self.parts(depth))})"
            case 3:
                return f"({' & '.join(self.parts(depth))})"
            case 4 | 5:
                return f"({self.pattern(depth + 1)}){self.quantifier()}"
            case 6:
                inner = self.name()
                for _ in range(chance.randrange(1, self.deepest + 1)):
                    inner = f"({inner}){self.quantifier()}"
                return inner
            case _:
                return f"{self.name()}{self.quantifier()}"

    def parts(self, depth: int) -> list[str]:
        most = self.chance.choice([2, 3, 5, 12, 62, 300, 2000])
        parts = [self.pattern(depth + 1)]
        while len(parts) < most and self.steps > 0:
            parts.append(self.pattern(depth + 1) if self.chance.random() < 0.3 else self.step())
        return parts

    def quantifier(self) -> str:
        chance = self.chance
        low = chance.choice([0, 1, 2, 7, 99, 1001, 10**5, 10**9])
        high = low + chance.choice([0, 1, 5, 1000, 10**9])
        return chance.choice(["?", "*", "+", f"{{{max(low, 1)}}}", f"{{{low},}}", f"{{{low},{max(high, 1)}}}"])

    def step(self) -> str:
        name = self.name()
        match self.chance.randrange(20):
            case 0:
                return f"{name}[{self.chance.choice([1, 2, 1000, 10**9])}]"
            case 1:
                return f"{self.chance.choice(['FIRST', 'LAST'])} {name}"
        return name

    def name(self) -> str:
        self.steps -= 1
        self.names.append(f"a{len(self.names)}")
        return self.names[-1]

    def condition(self, step: str) -> str:
        chance = self.chance
        other = chance.choice(self.names)
        several = " OR ".join(f"v = {chance.randrange(9)}" for _ in range(chance.choice([1, 1, 1, 2, 40])))
        return chance.choice(
            [
                several,
                several,
                f"v = {chance.randrange(5)}",
                f"k = $x AND v > {chance.randrange(4)}",
                f"v >= {other}.v",
                f"w < avg({other}.w) + 1",
                f"count({other}) < 4",
                "v > prev.v",
                "duration < 9",
            ]
        )


#: Statements of each kernel: what is compiled in a case would count as its time.
OF_EACH_KERNEL = (
    "a , b",
    "a , b AFTER MATCH LONGEST",
    "a ;{v > 1} b AFTER MATCH LONGEST",
    "a+ ; b WITHIN 5 AFTER MATCH LONGEST",
    "a ; b WITHIN 5",
    "a ; !c ; b WITHIN 5",
    "a ; b ; !c WITHIN 5",
    "a & b WITHIN 5",
    "a ; LAST b ; !c WITHIN 5",
    "a ; b WITHIN 5 AFTER MATCH CONSUME",
)


#: Conditions for each variant of a kernel.
OF_EACH_VARIANT = (
    "DEFINE b AS v > 1",
    "DEFINE b AS v > a.v",
    "DEFINE a AS k = $x, b AS k = $x AND count(b) < 4",
    "DEFINE b AS upper(k) >= a.k",
)
PATTERNS = ("a , b", "a , b , a2+", "a ; b , c", "a ; b+ ; c", "(a ;{v > 1} b){10,11}", "a & (b ; c)")
ENDS = ("WITHIN 5", "WITHIN 5 AFTER MATCH LONGEST", "WITHIN 5 AFTER MATCH SKIP PAST LAST")


def prepare(numbers: range) -> None:
    """Warm the kernels: a case has no time to compile one. In a long run every variant may occur."""
    if len(numbers) > 200:
        for pattern, conditions, end in product(PATTERNS, OF_EACH_VARIANT, ENDS):
            through(f"{STREAM}SUBSCRIBE p FROM s MATCH {pattern} {conditions} {end};", Random(0))
    for rest in OF_EACH_KERNEL:
        for per in ("", " PER k"):
            through(f"{STREAM}SUBSCRIBE p FROM s{per} MATCH {rest};", Random(0))
    for number in numbers[:200]:
        run(number, None)


def run(number: int, prepared: object) -> str:
    chance = Random(number)
    if number % EACH_LOSING == EACH_LOSING - 1:
        text, model = losing_statement(chance)
        return through(STREAM + text, chance, model=model)
    writer = Writer(chance)
    text = STREAM + writer.statement()
    return through(text, chance, max(1, min(8, CELLS // len(writer.names))))


def through(
    text: str,
    chance: Random,
    events: int = 8,
    model: dict[str, Any] | None = None,
    tables: dict[str, list[dict[str, Any]]] | None = None,
) -> str:
    """What becomes of a statement on its whole way."""
    try:
        statements = ft.parse(text)
        engine = ft.Engine(statements, limits=LIMITS, model=model, tables=tables)
        (statement,) = statements.checked({}, {}).statements
        found = 0
        for batch in range(BATCHES):
            if batch == 1:  # with the plan that the engine has
                if isinstance(statement, CheckedCorrelator):
                    explain_correlator(statement).as_text()
                else:
                    _explain(statement, model)
            if batch == BATCHES // 2:
                engine = ft.Engine.restore(statements, engine.snapshot(), limits=LIMITS, model=model)
            found += len(engine.push("s", rows(chance, batch, events)))
    except ForetellError as error:
        return error.code
    return "with matches" if found else "without"


def _explain(statement: CheckedSubscription, model: dict[str, Any] | None) -> None:
    if statement.tree.losing is not None:
        delays = delay_models(as_model(model), [statement.name]).get(statement.name) if model else None
        automaton_text(loss_automaton(statement, delays, LIMITS.losing))
    as_text(explain(statement))


def rows(chance: Random, batch: int, count: int) -> list[dict[str, Any]]:
    return [
        {"time": batch * count + i, "k": chance.choice("xyz"), "v": chance.randrange(6), "w": chance.random()}
        for i in range(count)
    ]
