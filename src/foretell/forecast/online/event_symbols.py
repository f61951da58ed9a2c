"""Event symbols: the alphabet of contexts. The symbol of an event is the set of conditions that hold for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from foretell.arrays import Ints
from foretell.errors import InputError, LanguageError
from foretell.filter.predicates import EventColumns, evaluate_predicates
from foretell.filter.string_dictionary import StringDictionary
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.parser import parse
from foretell.language.type_check import Scope, check_condition
from foretell.plan.condition_scope import is_static

Conditions = list[tuple[tree.Expression, ...]]


@dataclass
class EventSymbols:
    """`codes[n]` is symbol n: the conditions that hold, as bits. Symbol len(codes) stands for all other sets."""

    conditions: Sequence[tuple[tree.Expression, ...]]
    codes: list[int] = field(default_factory=list)

    def symbols(self, events: EventColumns, strings: StringDictionary) -> Ints:
        """The symbol of each event."""
        return self.symbols_of(self.condition_bits(events, strings))

    def condition_bits(self, events: EventColumns, strings: StringDictionary) -> Ints:
        """The conditions that hold for each event, as bits."""
        code = np.zeros(len(events), np.int64)
        for bit, holds in enumerate(evaluate_predicates(self.conditions, events, strings)):
            code |= holds.astype(np.int64) << bit
        return code

    def symbols_of(self, code: Ints) -> Ints:
        """The symbol of each set of conditions."""
        if not self.codes:
            return np.zeros(len(code), np.int64)
        codes = np.array(self.codes, np.int64)
        symbol = np.argsort(codes, kind="stable")
        at = np.minimum(np.searchsorted(codes[symbol], code), len(codes) - 1)
        return np.where(codes[symbol[at]] == code, symbol[at], len(codes))


def conditions_of(checked: CheckedSubscription, features: Sequence[str]) -> Conditions:
    """The conditions that distinguish symbols: the static conditions of each step, then the features."""
    by_step: Iterable[tuple[tree.Expression, ...]] = (step.conditions for step in checked.steps.values())
    if checked.correlator is not None:
        by_step = checked.correlator.conditions.values()
    static = [tuple(c for c in conditions if is_static(c)) for conditions in by_step]
    distinct = dict.fromkeys(conditions for conditions in static if conditions)
    for text in features:
        distinct[(_feature(text, checked),)] = None
    return list(distinct)


def _feature(text: str, checked: CheckedSubscription) -> tree.Expression:
    """Parses a feature: a condition on the attributes of a single event."""
    try:
        (statement,) = parse(f"SUBSCRIBE feature FROM stream MATCH a DEFINE a AS ({text}\n)").statements
    except (LanguageError, ValueError):
        raise InputError(
            "bad-feature", f"the feature '{text}' is not a condition", hint="write it as in DEFINE: temp > 20"
        ) from None
    assert isinstance(statement, tree.Subscription)
    condition = statement.definitions[0].condition
    scope = Scope(checked.attributes, tuple(map(str, checked.tree.streams)), checked.time)
    try:
        check_condition(condition, scope)
    except LanguageError as error:
        raise InputError("bad-feature", f"the feature '{text}': {error.message}", hint=error.hint) from None
    if not is_static(condition):
        raise InputError(
            "bad-feature",
            f"the feature '{text}' refers to more than a single event",
            hint="use attributes of the event and constants: temp > 20",
        )
    return condition


def attributes_of(checked: CheckedSubscription, features: Sequence[str]) -> set[str]:
    """The attributes that symbols depend on."""
    conditions = [condition for group in conditions_of(checked, features) for condition in group]
    return {str(n.name) for c in conditions for n in c.walk() if isinstance(n, tree.Attribute)}
