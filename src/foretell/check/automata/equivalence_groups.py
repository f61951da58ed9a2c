"""Groups of equivalent statements of a program, without a comparison of all pairs: statements with equal keys.

The key of a statement is its minimal machine over the events that make a difference to it: two statements that have
such a machine have equal keys where they notify at the same events. The key of others is their text without the names
of their steps and variables.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from foretell.check.automata.alphabet import Alphabet
from foretell.check.automata.correlator_questions import CorrelatorQuestions
from foretell.check.automata.event_cells import Cell
from foretell.check.automata.event_scope import event_scope, typed
from foretell.check.automata.letter_automaton import UnboundedPatternError
from foretell.check.automata.mealy_machine import (
    MealyMachine,
    canonical_moves,
    letter_columns,
    minimal,
    notification_machine,
    numbered_by_first,
    token_machine,
)
from foretell.check.automata.step_correspondence import plain_statement
from foretell.check.automata.subscription_language import languages
from foretell.check.automata.value_classes import Cut, ValueClass, joined
from foretell.check.deadline import Deadline
from foretell.language.checked import CheckedCorrelator, CheckedProgram, CheckedStatement, CheckedSubscription

#: The seconds that the key of one statement may take.
_EACH = 0.5


def equivalent_groups(program: CheckedProgram, deadline: Deadline) -> list[tuple[CheckedStatement, ...]]:
    """The groups of two and more statements that notify at the same events. Statements for which time is over are in
    none."""
    groups: dict[Hashable, list[CheckedStatement]] = {}
    for statement in program.statements:
        if deadline.is_over:
            break
        groups.setdefault(statement_key(statement, program, deadline.part(_EACH)), []).append(statement)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def statement_key(statement: CheckedStatement, program: CheckedProgram, deadline: Deadline) -> Hashable:
    """Statements with equal keys notify at the same events; correlators with equal keys emit the same tokens."""
    streams, per = frozenset(map(str, statement.tree.streams)), frozenset(map(str, statement.tree.per))
    key: Hashable = None
    if isinstance(statement, CheckedCorrelator):
        key = _correlator_key(statement, program, deadline)
    elif isinstance(statement, CheckedSubscription):
        key = _subscription_key(statement, program)
    return type(statement), streams, per, key


def _subscription_key(subscription: CheckedSubscription, program: CheckedProgram) -> Hashable:
    subscription = typed(subscription, program)
    try:
        (language,) = languages([subscription], event_scope(subscription, program))
        is_exact = language.is_exact and language.alphabet.cells.exact
        machine = notification_machine(language.at_least) if is_exact else None
    except UnboundedPatternError:
        machine = None
    if machine is None:
        return "text", plain_statement(subscription)
    return "machine", subscription.within, machine_key(machine, language.alphabet)


def _correlator_key(correlator: CheckedCorrelator, program: CheckedProgram, deadline: Deadline) -> Hashable:
    questions = CorrelatorQuestions(correlator, program, deadline)
    if not questions.reason and questions.alphabet.cells.exact:
        machine = token_machine(questions.counted)
        if machine is not None:
            return "machine", machine_key(machine, questions.alphabet)
    conditions = tuple((name, own) for name, own in sorted(correlator.conditions.items()))
    return "text", correlator.tree.expression, conditions


# ── the key of a machine ──


def machine_key(machine: MealyMachine, alphabet: Alphabet) -> Hashable:
    """A machine over the events that make a difference: the classes of values, the column of each combination of them,
    and the moves by column."""
    smallest = minimal(machine)
    columns = letter_columns(smallest)
    letter = {found.holding: number for number, found in enumerate(alphabet.letters)}
    cells = {(cell.stream, cell.classes): columns[letter[cell.holding]] for cell in alphabet.cells.cells}
    axes = [classes for _, classes in alphabet.cells.axes]
    merged = [_merged_classes(place, classes, alphabet.cells.cells, cells) for place, classes in enumerate(axes)]
    kept = [place for place, groups in enumerate(merged) if len(groups) > 1]
    table = _table(merged, kept, alphabet.cells.cells, cells)
    numbered, _ = numbered_by_first([column for _, column in table])
    letters = [columns.index(column) for column in dict.fromkeys(column for _, column in table)]
    names = tuple(
        (alphabet.cells.axes[place][0], tuple(_class_key(axes[place], group) for group in merged[place]))
        for place in kept
    )
    return names, tuple(name for name, _ in table), numbered, canonical_moves(smallest, letters)


Column = tuple[Hashable, ...]
CellColumns = dict[tuple[str, tuple[int, ...]], tuple[tuple[int, Hashable], ...]]


def _merged_classes(
    place: int, classes: Sequence[ValueClass], cells: Iterable[Cell], columns: CellColumns
) -> list[tuple[int, ...]]:
    """The classes of an attribute that make no difference to each other, in the order of their values."""
    slices: dict[int, list[Hashable]] = {number: [] for number in range(len(classes))}
    for cell in cells:
        rest = (cell.stream, *cell.classes[:place], *cell.classes[place + 1 :])
        slices[cell.classes[place]].append((rest, columns[cell.stream, cell.classes]))
    groups: dict[Hashable, list[int]] = {}
    for number, found in slices.items():
        groups.setdefault(frozenset(found), []).append(number)
    return sorted((tuple(group) for group in groups.values()), key=lambda group: _order(classes, group))


def _table(
    merged: Sequence[Sequence[tuple[int, ...]]], kept: Sequence[int], cells: Iterable[Cell], columns: CellColumns
) -> list[tuple[tuple[Hashable, ...], tuple[tuple[int, Hashable], ...]]]:
    """The column of each combination of merged classes, in the order of the classes."""
    number = [{own: group for group, several in enumerate(groups) for own in several} for groups in merged]
    found = {
        (cell.stream, *(number[place][cell.classes[place]] for place in kept)): columns[cell.stream, cell.classes]
        for cell in cells
    }
    return sorted(found.items(), key=lambda item: item[0])


def _class_key(classes: Sequence[ValueClass], group: Sequence[int]) -> Hashable:
    return any(classes[number].has_null for number in group), tuple(_ranges(classes, group))


def _ranges(classes: Sequence[ValueClass], group: Sequence[int]) -> Iterator[tuple[Cut, Cut]]:
    found = [values for number in group for values in classes[number].ranges]
    yield from joined(sorted(found, key=_range_order))


def _order(classes: Sequence[ValueClass], group: Sequence[int]) -> tuple[object, ...]:
    """The order of classes: by their least value, that of NULL alone last."""
    ranges = [values for number in group for values in classes[number].ranges]
    return (not ranges, *min((_range_order(values) for values in ranges), default=()))


def _range_order(values: tuple[Cut, Cut]) -> tuple[object, ...]:
    low = values[0]
    return (False,) if low is None else (True, *low)
