"""WITHIN over derived streams: a match as an event has a length, and the window counts from its start."""

from __future__ import annotations

from collections.abc import Mapping

from foretell.language import tree
from foretell.language.printer import expression_text


def derived_window_notes(program: tree.Program) -> tuple[str, ...]:
    """A note for each statement whose WITHIN counts from the start of a match that itself takes time: `t()` of such an
    event is its end, so that the two do not agree."""
    statements = {str(s.name): s for s in program.statements if isinstance(s, tree.Subscription)}
    notes = []
    for name, statement in statements.items():
        read = next((str(s) for s in statement.streams if _lasts(str(s), statements)), None)
        if statement.within is not None and read is not None:
            window = f"'{name}': WITHIN {expression_text(statement.within)}"
            notes.append(
                f"{window} counts from the start of a match of '{read}', and t() is its end; see Derived streams in "
                "docs/language.md"
            )
    return tuple(notes)


def _lasts(name: str, statements: Mapping[str, tree.Subscription]) -> bool:
    """Whether the events of a stream may end later than they start."""
    statement = statements.get(name)
    if statement is None:
        return False
    return any(map(_takes_time, statement.pattern.walk())) or any(_lasts(str(s), statements) for s in statement.streams)


def _takes_time(node: tree.Node) -> bool:
    match node:
        case tree.Repeat(high=high):
            return high != 1
        case tree.Sequence(parts=parts, absent=absent):
            return len(parts) > 1 or bool(absent)
    return isinstance(node, tree.Conjunction | tree.Silence)
