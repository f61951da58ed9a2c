"""Why a statement may have found nothing: a text that no event has, lanes of one event each.

An empty result is often right, and as often due to a misspelt text. Both look alike, so a note says what the data show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from foretell.errors import suggestion
from foretell.events.arrow_compute import pc
from foretell.events.arrow_interop import arrow_of_values
from foretell.events.ingest.raw_columns import ArrowArray
from foretell.events.ingest.reader import EventBatch
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedSubscription
from foretell.language.printer import expression_text

#: The values among which a hint looks, and the longest that it lists.
_MOST_VALUES, _LONGEST = 1000, 40


def empty_result_notes(
    program: CheckedProgram,
    batches: Mapping[str, EventBatch],
    lanes: Mapping[str, int],
    found: Mapping[str, Mapping[str, int]],
) -> tuple[str, ...]:
    """Notes on the subscriptions without a notification; `found` is the number of notifications by kind."""
    notes: list[str] = []
    for statement in program.statements:
        if isinstance(statement, CheckedSubscription) and not found.get(statement.name):
            streams = [str(stream) for stream in statement.tree.streams]
            if all(stream in batches and batches[stream].table.num_rows for stream in streams):
                own = {stream: batches[stream].table for stream in streams}
                notes += _missing_texts(statement, own)
                notes += _lonely_events(statement, own, lanes.get(statement.name))
    return tuple(notes)


def _missing_texts(statement: CheckedSubscription, tables: Mapping[str, pa.Table]) -> Iterator[str]:
    for attribute, texts, condition in dict.fromkeys(_compared_texts(statement)):
        columns = [table[attribute] for table in tables.values() if attribute in table.column_names]
        if not columns or any(column.type != pa.string() for column in columns):
            continue  # a LET attribute, or one that only some engines have as a text
        values = pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string()).unique()
        # No event has half a surrogate, nor could Arrow hold it.
        possible = [text for text in texts if not any("\ud800" <= character <= "\udfff" for character in text)]
        present: ArrowArray = pc.is_in(arrow_of_values(possible, Type.STRING), value_set=values)
        if not any(present.to_pylist()):
            streams = " and ".join(f"'{stream}'" for stream in tables)
            known = [text for text in values[:_MOST_VALUES].to_pylist() if text and len(text) <= _LONGEST]
            hint = suggestion(texts[0], known)
            fact = f"'{statement.name}': no event of {streams} has {condition}"
            yield f"{fact}; {hint}" if hint else fact


def _compared_texts(statement: CheckedSubscription) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """The attributes of single events that must equal one of some texts, and the condition."""
    for name in statement.positive:
        own = (tree.This(), tree.BoundEvent(name))
        for condition in statement.steps[name].conditions:
            for part in tree.conjuncts(condition):
                match part:
                    case tree.Binary("=", tree.Attribute(event, attribute), tree.Literal(str(text))) if event in own:
                        yield str(attribute), (text,), expression_text(part)
                    case tree.Binary("=", tree.Literal(str(text)), tree.Attribute(event, attribute)) if event in own:
                        yield str(attribute), (text,), expression_text(part)
                    case tree.In(tree.Attribute(event, attribute), options, False) if event in own:
                        texts = [option.value for option in options if isinstance(option, tree.Literal)]
                        if len(texts) == len(options) and all(isinstance(text, str) for text in texts):
                            yield str(attribute), tuple(map(str, texts)), expression_text(part)


def _lonely_events(statement: CheckedSubscription, tables: Mapping[str, pa.Table], lanes: int | None) -> Iterator[str]:
    events = sum(table.num_rows for table in tables.values())
    if statement.tree.per and lanes == events > 1 and _needs_several(statement.pattern):
        keys = ", ".join(map(str, statement.tree.per))
        yield f"'{statement.name}': no two events have the same {keys}, by which PER separates them"


def _needs_several(pattern: tree.Pattern) -> bool:
    """Whether every match has more than one event; False where that is not plain to see."""
    match pattern:
        case tree.Repeat(low=low):
            return low > 1
        case tree.Sequence(parts=parts):
            return sum(not isinstance(part.pattern, tree.Repeat) or part.pattern.low > 0 for part in parts) > 1
    return isinstance(pattern, tree.Conjunction)
