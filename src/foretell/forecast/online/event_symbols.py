"""What kind of event an event is, for contexts: which conditions hold of it, as one number."""

from __future__ import annotations

from collections.abc import Sequence
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
class Symbols:
    """`conditions` tell events apart; `codes` are the sets of them that have been seen, as bits, by their numbers. The
    last symbol is what was unknown when these were learned."""

    conditions: Sequence[tuple[tree.Expression, ...]]
    codes: list[int] = field(default_factory=list)

    def of(self, events: EventColumns, strings: StringDictionary) -> Ints:
        """The symbol of each event."""
        return self.numbered(self.coded(events, strings))

    def coded(self, events: EventColumns, strings: StringDictionary) -> Ints:
        """Of each event which conditions hold, as bits."""
        code = np.zeros(len(events), np.int64)
        for bit, holds in enumerate(evaluate_predicates(self.conditions, events, strings)):
            code |= holds.astype(np.int64) << bit
        return code

    def numbered(self, code: Ints) -> Ints:
        """Symbols by their bits."""
        known = np.array(sorted(self.codes), np.int64)
        number = np.array([self.codes.index(one) for one in known.tolist()] or [0], np.int64)
        if not len(known):
            return np.zeros(len(code), np.int64)
        at = np.minimum(np.searchsorted(known, code), len(known) - 1)
        return np.where(known[at] == code, number[at], len(self.codes))


def conditions_of(checked: CheckedSubscription, features: Sequence[str]) -> Conditions:
    """What tells symbols apart: of each step what it asks of an event alone, then the features."""
    own = [tuple(c for c in step.conditions if is_static(c)) for step in checked.steps.values()]
    found = dict.fromkeys(some for some in own if some)
    for text in features:
        found[(_feature(text, checked),)] = None
    return list(found)


def _feature(text: str, checked: CheckedSubscription) -> tree.Expression:
    """A condition that names attributes of the event alone."""
    try:
        (statement,) = parse(f"SUBSCRIBE feature FROM stream MATCH a DEFINE a AS ({text}\n)").statements
    except (LanguageError, ValueError):
        raise InputError(
            "bad-feature", f"the feature '{text}' is no condition", hint="as in DEFINE: temp > 20"
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
            "bad-feature", f"the feature '{text}' names more than the event", hint="as in DEFINE: temp > 20"
        )
    return condition


def attributes_of(checked: CheckedSubscription, features: Sequence[str]) -> set[str]:
    conditions = [c for some in conditions_of(checked, features) for c in some]
    return {str(n.name) for c in conditions for n in c.walk() if isinstance(n, tree.Attribute)}
