"""Is a correlator vacuous, trivial, live? Against all configurations of the reference evaluator's machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from random import Random

import pytest

from foretell.check.answer import Answer, Truth
from foretell.check.automata.correlator_questions import CorrelatorQuestions
from foretell.check.deadline import Deadline
from foretell.language import tree
from foretell.language.check import check
from foretell.language.checked import CheckedCorrelator, CheckedProgram
from foretell.language.parser import parse
from foretell.language.printer import correlation_text
from foretell.reference.correlation import CorrelationRun, MachineConstruction
from tests.correlate.expressions import expression, small_expressions

STREAM = "STREAM s (k STRING, n INT, t INT) TIME t;"

#: Conditions of which every combination is possible but for that of a and b.
CONDITIONS = {"a": "k = 'a'", "b": "k = 'b'", "c": "n > 2", "d": "n > 4"}

#: The sets of steps that one event can satisfy.
EVENTS = [frozenset(kinds + sizes) for kinds in ("", "a", "b") for sizes in ("", "c", "cd")]

States = frozenset[int]


#: The same where every event is an a.
ALWAYS = CONDITIONS | {"a": "k IS NULL OR k IS NOT NULL"}
ALWAYS_EVENTS = [frozenset(("a", *event)) for event in EVENTS]


def correlator(
    *wholes: tree.Correlation, conditions: Mapping[str, str] = CONDITIONS
) -> tuple[list[CheckedCorrelator], CheckedProgram]:
    texts = []
    for number, whole in enumerate(wholes):
        used = {n.step for n in whole.walk() if isinstance(n, tree.On)}
        used |= {n.guard for n in whole.walk() if isinstance(n, tree.Mode)}
        define = ", ".join(f"{step} AS {conditions[step]}" for step in sorted(used))
        texts.append(f"CORRELATE m{number} FROM s DO {correlation_text(whole)} DEFINE {define};")
    program = check(parse(STREAM + "".join(texts)))
    return [s for s in program.statements if isinstance(s, CheckedCorrelator)], program


class ReferenceStates:
    """All configurations of the reference evaluator's machine, breadth first, with their moves."""

    def __init__(self, whole: tree.Correlation, possible: Iterable[frozenset[str]] = EVENTS) -> None:
        module = MachineConstruction().build(whole)
        steps = {n.step for n in whole.walk() if isinstance(n, tree.On)}
        steps |= {n.guard for n in whole.walk() if isinstance(n, tree.Mode)}
        self.events = sorted({event & steps for event in possible}, key=sorted)
        self.depth = {module.initial: 0}
        self.moves: dict[States, list[tuple[States, Sequence[str]]]] = {}
        todo = [module.initial]
        for active in todo:
            self.moves[active] = []
            for event in self.events:
                run = CorrelationRun(module, active)
                tokens = run.read(lambda step, event=event: step in event)  # type: ignore[misc]
                self.moves[active].append((run.active, tokens))
                if run.active not in self.depth:
                    self.depth[run.active] = self.depth[active] + 1
                    todo.append(run.active)

    @property
    def is_vacuous(self) -> bool:
        return not any(tokens for moves in self.moves.values() for _, tokens in moves)

    @property
    def is_trivial(self) -> bool:
        return all(tokens for moves in self.moves.values() for _, tokens in moves)

    def shortest_death(self) -> int | None:
        """The fewest events after which no token can come."""
        living = {state for state, moves in self.moves.items() if any(tokens for _, tokens in moves)}
        while more := {s for s, moves in self.moves.items() if s not in living and any(t in living for t, _ in moves)}:
            living |= more
        return min((self.depth[state] for state in self.moves if state not in living), default=None)


def agree(whole: tree.Correlation, *, always: bool = False) -> Counter[str]:
    (statement,), program = correlator(whole, conditions=ALWAYS if always else CONDITIONS)
    questions = CorrelatorQuestions(statement, program, Deadline(60))
    states = ReferenceStates(whole, ALWAYS_EVENTS if always else EVENTS)
    expect(questions.vacuous(), states.is_vacuous, whole)
    expect(questions.trivial(), states.is_trivial, whole)
    death = states.shortest_death()
    live = questions.live()
    expect(live, death is None, whole)
    if live.witness is not None:
        assert len(live.witness.events) == death, whole
    return Counter(vacuous=states.is_vacuous, trivial=states.is_trivial, live=death is None)


def expect(answer: Answer, truth: bool, whole: tree.Correlation) -> None:
    assert answer.truth is (Truth.YES if truth else Truth.NO), (whole, answer)


def random_expression(seed: int) -> tree.Correlation:
    random = Random(seed)
    whole = expression(random, random.randint(1, 3))
    return tree.Again("repeat", tree.Push("w", whole)) if seed % 3 else whole


def test_small_expressions() -> None:
    found: Counter[str] = Counter()
    for whole in [*small_expressions()][::7]:
        found += agree(whole)
    assert found["vacuous"] > 50


def test_random_expressions() -> None:
    found: Counter[str] = Counter()
    for seed in range(300):
        found += agree(random_expression(seed), always=seed % 2 == 1)
    assert min(found["vacuous"], found["trivial"], found["live"]) > 5


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_all_small_expressions() -> None:
    for whole in small_expressions():
        agree(whole)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_random_expressions_for_long() -> None:
    for seed in range(1_000, 11_000):
        agree(random_expression(seed), always=seed % 2 == 1)
