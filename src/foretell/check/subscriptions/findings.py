"""All findings about one subscription."""

from __future__ import annotations

from collections.abc import Iterator

from foretell.check.deadline import Deadline
from foretell.check.finding import Finding
from foretell.language.checked import CheckedProgram, CheckedSubscription


def subscription_findings(
    statement: CheckedSubscription, program: CheckedProgram, deadline: Deadline
) -> Iterator[Finding]:
    """The findings about a subscription, in the order of the text. `program` is the one that it belongs to."""
    yield from ()
