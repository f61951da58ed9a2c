"""Random comparisons, profiles and events over few values, and the naive evaluation of every profile."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from foretell.events.types import Scalar, Type
from foretell.filter.column import Column, dtype_of
from foretell.filter.predicates import EventColumns
from foretell.filter.profile_index import ProfileComparison
from foretell.filter.profile_matches import ProfileMatches
from foretell.filter.string_dictionary import StringDictionary
from foretell.language.tree import Attribute, This
from foretell.reference.expressions import compare

Row = Mapping[str, Scalar]

NAN = math.nan
VALUES: Mapping[Type, Sequence[Scalar]] = {
    Type.INT: (-(2**63), -(2**63) + 1, -1, 0, 1, 2, 2**53, 2**53 + 1, 2**63 - 1),
    Type.FLOAT: (-math.inf, -1.0, -0.0, 0.0, 5e-324, 0.5, 1.0, 2.0, 2.0**53, 2.0**63, math.inf, NAN, -NAN),
    Type.STRING: ("", "a", "b", "ab", "é"),
    Type.TIMESTAMP: (-(2**62), 0, 10**15, 10**15 + 1, 2**62),
    Type.BOOL: (False, True),
}
#: The attributes of events and their types.
ATTRIBUTES: Mapping[str, Type] = {
    "i": Type.INT,
    "j": Type.INT,
    "x": Type.FLOAT,
    "y": Type.FLOAT,
    "s": Type.STRING,
    "b": Type.BOOL,
    "m": Type.TIMESTAMP,
}
ORDERS = ("=", "=", "=", "<", "<=", ">", ">=", "<>")
_NUMBERS = (Type.INT, Type.FLOAT)


def values_of(kind: Type) -> st.SearchStrategy[Scalar]:
    return st.sampled_from(VALUES[kind])


@st.composite
def comparisons(draw: st.DrawFn) -> tuple[list[ProfileComparison], dict[str, Type]]:
    """Comparisons and the types of their parameters. INT and FLOAT meet."""
    made: list[ProfileComparison] = []
    types: dict[str, Type] = {}
    for number in range(draw(st.integers(1, 6))):
        name = draw(st.sampled_from(sorted(ATTRIBUTES)))
        kind = ATTRIBUTES[name]
        other = draw(st.sampled_from(_NUMBERS)) if kind in _NUMBERS else kind
        operator = draw(st.sampled_from(ORDERS))
        attribute = Attribute(This(), name)
        if draw(st.integers(0, 9)) == 0:
            made.append(ProfileComparison(attribute, kind, operator, None, draw(st.none() | values_of(other))))
            continue
        if kind is not Type.STRING and draw(st.integers(0, 3)) == 0:  # BETWEEN
            low, high = f"low{number}", f"high{number}"
            types |= {low: other, high: other}
            waived_by = draw(st.sampled_from([None, low]))
            made.append(ProfileComparison(attribute, kind, ">=", low, waived_by=waived_by))
            made.append(ProfileComparison(attribute, kind, "<=", high, waived_by=waived_by))
            continue
        parameter = f"p{number}"
        waived_by = draw(st.sampled_from([None, parameter, parameter, *types]))
        types[parameter] = other
        made.append(ProfileComparison(attribute, kind, operator, parameter, waived_by=waived_by))
    types = types or {"unused": Type.INT}
    return made, types


def rows_of(types: Mapping[str, Type], size: int) -> st.SearchStrategy[list[Row]]:
    row = st.fixed_dictionaries({name: st.none() | values_of(kind) | values_of(kind) for name, kind in types.items()})
    return st.lists(row, max_size=size)


def events(size: int = 12) -> st.SearchStrategy[list[Row]]:
    row = st.fixed_dictionaries({n: st.none() | values_of(k) | values_of(k) for n, k in ATTRIBUTES.items()})
    return st.lists(row, max_size=size)


def columns_of(rows: Sequence[Row], types: Mapping[str, Type], strings: StringDictionary) -> dict[str, Column]:
    return {name: _column([row[name] for row in rows], kind, strings) for name, kind in types.items()}


def _column(values: Sequence[Scalar], kind: Type, strings: StringDictionary) -> Column:
    words: list[Any] = [0 if v is None else strings.constant(v) if isinstance(v, str) else v for v in values]
    return Column(kind, np.array(words, dtype_of(kind)), np.array([value is None for value in values], np.bool_))


def event_columns(rows: Sequence[Row], strings: StringDictionary) -> EventColumns:
    time = Column(Type.INT, np.arange(len(rows)), np.zeros(len(rows), np.bool_))
    return EventColumns(columns_of(rows, ATTRIBUTES, strings), ATTRIBUTES, time, time, time)


def satisfies(event: Row, profile: Row, conjuncts: Sequence[ProfileComparison]) -> bool:
    """Whether an event satisfies a profile, by the comparison of the reference evaluator."""
    return all(
        (conjunct.waived_by is not None and profile[conjunct.waived_by] is None)
        or compare(conjunct.operator, event[_name(conjunct)], _operand(conjunct, profile)) is True
        for conjunct in conjuncts
    )


def _name(conjunct: ProfileComparison) -> str:
    assert isinstance(conjunct.expression, Attribute)
    return conjunct.expression.name


def _operand(conjunct: ProfileComparison, profile: Row) -> Scalar:
    return conjunct.constant if conjunct.parameter is None else profile[conjunct.parameter]


def naive_matches(
    rows: Sequence[Row], profiles: Mapping[int, Row], conjuncts: Sequence[ProfileComparison]
) -> list[list[int]]:
    """The numbers of the profiles that each event satisfies."""
    return [[number for number, row in profiles.items() if satisfies(event, row, conjuncts)] for event in rows]


def lists_of(matches: ProfileMatches) -> list[list[int]]:
    return [part.tolist() for part in np.split(matches.profiles, matches.offsets[1:-1])] if len(matches) else []
