"""StatementComparison of the statements of two programs: equivalent, contained, different, or "cannot tell"."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from functools import cached_property

from foretell.check.answer import Answer, Truth
from foretell.check.assumed_schemas import ClosedProgram
from foretell.check.deadline import Deadline
from foretell.check.tree_keys import statement_key, tree_key
from foretell.check.witness import Witness
from foretell.language.checked import CheckedProgram, CheckedStatement
from foretell.records import record


class Relation(Enum):
    """The relation of a statement to another one."""

    EQUIVALENT = "is equivalent to"
    CONTAINED = "is contained in"
    CONTAINS = "contains"
    DIFFERS = "differs from"
    UNKNOWN = "cannot tell"
    ONLY = "is only in"


@record
class StatementComparison:
    """A statement compared with one of another program. `reason` says why the relation is not known, or what decides
    it. `left_alone` shows notifications of the first statement that the second does not make, `right_alone` the
    reverse. `file` has the second one, or the only one."""

    left: str
    right: str
    relation: Relation
    reason: str = ""
    left_alone: Witness | None = None
    right_alone: Witness | None = None
    file: str = ""

    @property
    def is_equivalent(self) -> bool:
        return self.relation is Relation.EQUIVALENT

    def as_text(self) -> str:
        """The comparison as a sentence."""
        match self.relation:
            case Relation.ONLY:
                sentence = f"'{self.left or self.right}' is only in {self.file or 'one of the programs'}"
            case Relation.UNKNOWN:
                sentence = f"cannot tell whether '{self.left}' is equivalent to {self._other}"
            case _:
                sentence = f"'{self.left}' {self.relation.value} {self._other}"
        return f"{sentence} ({self.reason})" if self.reason else sentence

    @property
    def _other(self) -> str:
        return f"'{self.right}' of {self.file}" if self.file else f"'{self.right}'"


@record
class ComparedProgram:
    """A program with the file that it comes from; the types of its `untyped` statements are not known."""

    program: CheckedProgram
    file: str
    lets: Mapping[str, Hashable]
    untyped: frozenset[str] = frozenset()

    @cached_property
    def by_name(self) -> Mapping[str, CheckedStatement]:
        return {statement.name: statement for statement in self.program.statements}


def compared_program(closed: ClosedProgram, file: str) -> ComparedProgram:
    lets = {name: tree_key(derived, {}) for name, derived in closed.program.derived.items()}
    return ComparedProgram(closed.program, file, lets, closed.untyped)


def compare(
    left: ComparedProgram, right: ComparedProgram, deadline: Deadline, seconds: float
) -> Iterator[StatementComparison]:
    """The statements of the same name, or the only ones of both programs; then those that have no partner. `seconds`
    bounds each question."""
    ours, theirs = left.by_name, right.by_name
    left_alone, right_alone = list[str](), list[str]()
    if len(ours) == len(theirs) == 1:
        pairs = [(next(iter(ours.values())), next(iter(theirs.values())))]
    else:
        pairs = [(statement, theirs[name]) for name, statement in ours.items() if name in theirs]
        left_alone = [name for name in ours if name not in theirs]
        right_alone = [name for name in theirs if name not in ours]
    for mine, other in pairs:
        yield replace(_compared(mine, other, left, right, deadline.part(seconds)), file=right.file)
    yield from (StatementComparison(name, "", Relation.ONLY, file=left.file) for name in left_alone)
    yield from (StatementComparison("", name, Relation.ONLY, file=right.file) for name in right_alone)


def _compared(
    ours: CheckedStatement, theirs: CheckedStatement, left: ComparedProgram, right: ComparedProgram, deadline: Deadline
) -> StatementComparison:
    if _reading_key(ours, left) == _reading_key(theirs, right):
        return StatementComparison(ours.name, theirs.name, Relation.EQUIVALENT, "their texts say the same")
    if deadline.is_over:
        return StatementComparison(ours.name, theirs.name, Relation.UNKNOWN, "the time is over")
    if ours.name in left.untyped or theirs.name in right.untyped:
        return StatementComparison(
            ours.name, theirs.name, Relation.UNKNOWN, "the types of what they read are not known"
        )
    from foretell.check.automata.containment import contained  # loads Z3

    forward = contained(ours, theirs, left.program, right.program, deadline)
    backward = contained(theirs, ours, right.program, left.program, deadline)
    return related(ours.name, theirs.name, forward, backward)


def related(left: str, right: str, forward: Answer, backward: Answer) -> StatementComparison:
    """The relation by two answers: whether the first statement is contained in the second, and the reverse."""
    relation = {
        (Truth.YES, Truth.YES): Relation.EQUIVALENT,
        (Truth.YES, Truth.NO): Relation.CONTAINED,
        (Truth.NO, Truth.YES): Relation.CONTAINS,
        (Truth.NO, Truth.NO): Relation.DIFFERS,
    }.get((forward.truth, backward.truth), Relation.UNKNOWN)
    unknown = [answer.reason for answer in (forward, backward) if answer.truth is Truth.UNKNOWN]
    reason = "; ".join(dict.fromkeys(unknown)) if unknown else ""
    if unknown and Truth.NO in (forward.truth, backward.truth):
        relation = Relation.DIFFERS
    if unknown and Truth.YES in (forward.truth, backward.truth):
        within = f"'{left}' is contained in '{right}'" if forward.truth is Truth.YES else f"'{left}' contains '{right}'"
        reason = f"{within}, the reverse is not known: {reason}"
    left_alone = forward.witness if forward.truth is Truth.NO else None
    right_alone = backward.witness if backward.truth is Truth.NO else None
    return StatementComparison(left, right, relation, reason, left_alone, right_alone)


def _reading_key(statement: CheckedStatement, program: ComparedProgram) -> Hashable:
    """Equal for statements that are equal with all that they read."""
    by_name = program.by_name
    streams = list[Hashable]()
    todo, seen = list(map(str, statement.tree.streams)), set[str]()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in by_name:
            streams.append((name, statement_key(by_name[name])))
            todo += map(str, by_name[name].tree.streams)
        else:
            schema = program.program.streams.get(name)
            streams.append((name, None if schema is None else schema.content, program.lets.get(name)))
    return statement_key(statement), frozenset(streams)
