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
class FindingCode:
    """A code with its meaning in a few words. What is about allowances themselves cannot be allowed."""

    name: str
    meaning: str
    kind: Kind = Kind.FINDING
    can_be_allowed: bool = True


_ALL = (
    # ── conditions of subscriptions ──
    FindingCode("contradiction", "the conditions of a step contradict each other"),
    FindingCode("contradicting-steps", "conditions of several steps contradict each other, so that there is no match"),
    FindingCode("impossible-within", "WITHIN contradicts the time conditions"),
    FindingCode("having-never", "HAVING contradicts the conditions of the steps, or itself"),
    FindingCode("dead-branch", "no match binds a step"),
    FindingCode("impossible-negation", "no event can be a negated step"),
    FindingCode("always-true", "a condition follows from the others of its step"),
    # ── subscriptions and correlators ──
    FindingCode("vacuous", "a statement can never notify"),
    FindingCode("trivial", "a statement notifies at every event"),
    # ── correlators ──
    FindingCode("not-live", "after certain events a correlator can never emit a token again"),
    FindingCode("step-never-holds", "no event satisfies a step"),
    FindingCode("guards-overlap", "an event satisfies the guards of two modes"),
    FindingCode("token-never-comes", "a token of a correlator can never come"),
    FindingCode("part-never-starts", "a part can never start"),
    FindingCode("part-never-completes", "a part never completes, and another one waits for it"),
    FindingCode("not-decided", "a question ran into a limit of the check", can_be_allowed=False),
    # ── about the text ──
    FindingCode("unused-stream", "no statement reads a declared stream"),
    FindingCode("duplicate-statement", "a statement says the same as another one"),
    FindingCode("equivalent-statements", "a statement notifies at the same events as another one"),
    FindingCode("indistinguishable-steps", "nothing distinguishes two steps, so that each match is reported twice"),
    FindingCode("unknown-code", "an allowance names a code that does not exist", can_be_allowed=False),
    FindingCode("unused-allowance", "an allowance silences nothing", can_be_allowed=False),
    # ── costs ──
    FindingCode("explosive-matches", "the number of matches explodes, without a WITHIN that would bound it"),
    FindingCode("large-automaton", "the engine refuses the pattern: it needs too many states or edges"),
    FindingCode("unbounded-state", "partial matches wait for ever", Kind.NOTE),
    FindingCode("many-matches", "matches multiply with the events of a lane or a window", Kind.NOTE),
    FindingCode("many-states", "the automaton is large, or a correlator runs concurrently", Kind.NOTE),
    FindingCode("kept-lanes", "lanes are kept although their key never returns", Kind.NOTE),
    FindingCode("unindexed-rows", "each row of a FOR EACH table runs apart, without an index", Kind.NOTE),
    FindingCode("unindexed-matches", "no index finds the partial matches that an event extends", Kind.NOTE),
    FindingCode("slow-kernel", "a change would let a quicker kernel run the statement", Kind.NOTE),
)

#: All codes by name, in the order of the documentation.
CODES: Mapping[str, FindingCode] = {code.name: code for code in _ALL}


def is_note(code: str) -> bool:
    """Whether findings with this code are notes on costs."""
    return code in CODES and CODES[code].kind is Kind.NOTE
