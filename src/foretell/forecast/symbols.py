"""What kind of event an event is, for contexts: which conditions hold of it, as one number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from foretell.filter.columns import Strings
from foretell.filter.predicates import Events, answers
from foretell.language.tree import Expression

Ints = NDArray[np.int64]


@dataclass
class Symbols:
    """`conditions` tell events apart; `codes` are the sets of them that have been seen, as bits, by their numbers. The
    last symbol is what was unknown when these were learned."""

    conditions: Sequence[tuple[Expression, ...]]
    codes: list[int] = field(default_factory=list)

    def of(self, events: Events, strings: Strings) -> Ints:
        """The symbol of each event."""
        return self.numbered(self.coded(events, strings))

    def coded(self, events: Events, strings: Strings) -> Ints:
        """Of each event which conditions hold, as bits."""
        code = np.zeros(len(events), np.int64)
        for bit, holds in enumerate(answers(self.conditions, events, strings)):
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
