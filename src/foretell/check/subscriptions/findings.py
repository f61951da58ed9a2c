"""All findings about one subscription.

| code | finding |
| --- | --- |
| contradiction | the conditions of one step contradict each other |
| contradicting-steps | conditions of several steps do, so that the statement never matches |
| impossible-within | WITHIN contradicts the time conditions |
| having-never | HAVING contradicts the conditions of the steps, or itself |
| vacuous | the statement never matches for another reason: it reads nothing, or `,` leaves no room for a[i] |
| dead-branch | no match binds a step, although the statement matches without it |
| impossible-negation | no event can be a negated step |
| always-true | a condition follows from the others of its step |
| trivial | the statement notifies on every event |

Statements with LOSING, or that read estimates, are checked step by step only: an estimate assumes events that no
condition has seen. Of statements that read others, the events of these may have any RETURN values. AFTER MATCH, FIRST
and LAST choose among matches and never leave none; that they may always prefer other branches is not decided.
"""

from __future__ import annotations

from collections.abc import Iterator

from foretell.check.deadline import Deadline
from foretell.check.finding import Finding
from foretell.check.subscriptions.known_matches import KnownMatches
from foretell.language.checked import CheckedProgram, CheckedSubscription

#: The longest that the check of one statement may take, in seconds.
MOST_SECONDS = 5.0


def subscription_findings(
    statement: CheckedSubscription, program: CheckedProgram, deadline: Deadline, known: KnownMatches | None = None
) -> Iterator[Finding]:
    """The findings about a subscription, in the order of the text. `program` is the one that it belongs to; `known`
    has matches of other statements, which may be matches of this one with other values."""
    from foretell.check.subscriptions.subscription_check import SubscriptionCheck  # loads z3

    found = SubscriptionCheck(statement, program, deadline.part(MOST_SECONDS), known).findings()
    unique = {(finding.code, finding.place, finding.message): finding for finding in found}
    yield from sorted(unique.values(), key=lambda finding: (finding.place.line, finding.place.column))
