"""The codes of findings: what each means, and whether it is a finding or a note on costs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from foretell.records import record


class Kind(Enum):
    """A finding is a reason to change the statement. A note tells what a sensible statement costs."""

    FINDING = "finding"
    NOTE = "note"


@record
class Code:
    """A code with its meaning in a few words. What is about allowances themselves cannot be allowed."""

    name: str
    meaning: str
    kind: Kind = Kind.FINDING
    can_be_allowed: bool = True


_ALL = (
    # ── conditions of subscriptions ──
    Code("contradiction", "the conditions of a step contradict each other"),
    Code("contradicting-steps", "conditions of several steps contradict each other, so that there is no match"),
    Code("impossible-within", "WITHIN contradicts the time conditions"),
    Code("having-never", "HAVING contradicts the conditions of the steps, or itself"),
    Code("dead-branch", "no match binds a step"),
    Code("impossible-negation", "no event can be a negated step"),
    Code("always-true", "a condition follows from the others of its step"),
    # ── subscriptions and correlators ──
    Code("vacuous", "a statement can never notify"),
    Code("trivial", "a statement notifies at every event"),
    # ── correlators ──
    Code("not-live", "after certain events a correlator can never emit a token again"),
    Code("step-never-holds", "no event satisfies a step"),
    Code("guards-overlap", "an event satisfies the guards of two modes"),
    Code("token-never-comes", "a token of a correlator can never come"),
    Code("part-never-starts", "a part can never start"),
    Code("part-never-completes", "a part never completes, and another one waits for it"),
    Code("not-decided", "a question ran into a limit of the check", can_be_allowed=False),
    # ── about the text ──
    Code("unused-stream", "no statement reads a declared stream"),
    Code("duplicate-statement", "a statement says the same as another one"),
    Code("equivalent-statements", "a statement notifies at the same events as another one"),
    Code("indistinguishable-steps", "nothing distinguishes two steps, so that each match is reported twice"),
    Code("unknown-code", "an allowance names a code that does not exist", can_be_allowed=False),
    Code("unused-allowance", "an allowance silences nothing", can_be_allowed=False),
    # ── costs ──
    Code("explosive-matches", "the number of matches explodes, without a WITHIN that would bound it"),
    Code("large-automaton", "the engine refuses the pattern: it needs too many states or edges"),
    Code("unbounded-state", "partial matches wait for ever", Kind.NOTE),
    Code("many-matches", "matches multiply with the events of a lane or a window", Kind.NOTE),
    Code("many-states", "the automaton is large, or a correlator runs concurrently", Kind.NOTE),
    Code("kept-lanes", "lanes are kept although their key never returns", Kind.NOTE),
    Code("unindexed-rows", "each row of a FOR EACH table runs apart, without an index", Kind.NOTE),
    Code("unindexed-matches", "no index finds the partial matches that an event extends", Kind.NOTE),
    Code("slow-kernel", "a change would let a quicker kernel run the statement", Kind.NOTE),
)

#: All codes by name, in the order of the documentation.
CODES: Mapping[str, Code] = {code.name: code for code in _ALL}


def is_note(code: str) -> bool:
    """Whether findings with this code are notes on costs."""
    return code in CODES and CODES[code].kind is Kind.NOTE
