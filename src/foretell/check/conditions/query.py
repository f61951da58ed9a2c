"""A set of conditions put to z3: a model, an unsatisfiable core, or no answer in time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

import z3

from foretell.check.conditions.encoder import Encoder
from foretell.check.conditions.event_model import EventModel
from foretell.check.conditions.facts import Facts
from foretell.check.conditions.texts import RankedTexts, SequenceTexts, TextTheory
from foretell.check.conditions.values import Formula
from foretell.check.deadline import Deadline
from foretell.language import tree
from foretell.language.functions import TEXT_TESTS
from foretell.records import record

#: The longest that one call of z3 may take.
MOST_SECONDS = 1.0
#: The longest that the search for small numbers may take.
SIMPLE_SECONDS = 0.3


class Outcome(Enum):
    SATISFIABLE = "satisfiable"
    UNSATISFIABLE = "unsatisfiable"
    UNKNOWN = "unknown"


@record
class Labelled:
    """A formula, and what it stands for in an unsatisfiable core."""

    label: object
    formula: Formula


class Query:
    """The symbols and facts of one question. `expressions` are all that will be encoded."""

    def __init__(self, model: EventModel, expressions: Iterable[tree.Expression]) -> None:
        nodes = [n for e in expressions for n in e.walk()]
        nodes += [n for source in model.sources for e in source.lets.values() for n in e.walk()]
        literals = {n.value for n in nodes if isinstance(n, tree.Literal) and isinstance(n.value, str)}
        literals |= {source.name for source in model.sources}
        theory = SequenceTexts if any(map(_needs_characters, nodes)) else RankedTexts
        self.facts = Facts()
        self.texts: TextTheory = theory(literals, self.facts)
        self.encoder = Encoder(model, self.texts, self.facts)
        self.core: tuple[int, ...] = ()
        self.refuted = False

    def outcome(self, parts: Sequence[Labelled], deadline: Deadline) -> Outcome:
        """Whether the formulas allow an event at all; that there is one only the reference evaluator can tell."""
        return self._solve(parts, [], deadline)[0]

    def models(self, parts: Sequence[Labelled], deadline: Deadline, *, simple: bool) -> Iterator[z3.ModelRef]:
        """Models, the likeliest to be confirmed first; none where the formulas are unsatisfiable or z3 gives up.

        With `simple` the first has small numbers. `refuted` says whether the formulas are unsatisfiable.
        """
        first = self.facts.small() if simple else self.facts.finite()
        _, likely = self._solve(parts, first, deadline.part(SIMPLE_SECONDS))
        if likely is not None:
            yield likely
        outcome, general = self._solve(parts, [], deadline)
        self.refuted = outcome is Outcome.UNSATISFIABLE
        if self.refuted:
            return
        for wishes in (self.facts.short(), self.facts.finite(), self.facts.small()):
            _, model = self._solve(parts, wishes, deadline)
            if model is not None:
                yield model
        if general is not None:
            yield general

    def smallest_core(self, parts: Sequence[Labelled], deadline: Deadline) -> tuple[Labelled, ...]:
        """A set of formulas that is unsatisfiable and would not be without any of them."""
        if self.outcome(parts, deadline) is not Outcome.UNSATISFIABLE:
            return tuple(parts)
        kept = [part for number, part in enumerate(parts) if number in self.core]
        for part in tuple(kept):
            fewer = [other for other in kept if other is not part]
            if self.outcome(fewer, deadline) is Outcome.UNSATISFIABLE:
                kept = fewer
        return tuple(kept)

    def _solve(
        self, parts: Sequence[Labelled], wishes: Sequence[Formula], deadline: Deadline
    ) -> tuple[Outcome, z3.ModelRef | None]:
        never = [number for number, part in enumerate(parts) if z3.is_false(part.formula)]
        if never:
            self.core = (never[0],)
            return Outcome.UNSATISFIABLE, None
        if deadline.is_over:
            return Outcome.UNKNOWN, None
        solver = z3.Solver() if isinstance(self.texts, SequenceTexts) else z3.SimpleSolver()
        solver.set("timeout", max(1, int(min(deadline.left, MOST_SECONDS) * 1000)))
        solver.add(self.facts.certain)
        solver.add(list(wishes))
        for number, part in enumerate(parts):
            solver.assert_and_track(part.formula, f"part {number}")
        try:
            found = solver.check()
        except z3.Z3Exception:  # memory, or a term that z3 cannot handle
            return Outcome.UNKNOWN, None
        if found == z3.sat:
            return Outcome.SATISFIABLE, solver.model()
        if found == z3.unsat:
            self.core = tuple(int(str(name).removeprefix("part ")) for name in solver.unsat_core())
            return Outcome.UNSATISFIABLE, None
        return Outcome.UNKNOWN, None


def _needs_characters(node: tree.Node) -> bool:
    """Whether a node looks into a text, so that its order is not enough."""
    match node:
        case tree.Like():
            return True
        case tree.Call(function=function):
            return function in (*TEXT_TESTS, "length", "substr", "regexp_like")
    return False
