"""Findings about whole statements that never match, and about steps that no match binds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from foretell.check.conditions.query import Labelled
from foretell.check.finding import Finding
from foretell.check.subscriptions.culprits import Culprit, culprits, listed
from foretell.check.witness import Witness
from foretell.errors import Place
from foretell.language.checked import CheckedSubscription
from foretell.language.tree import place_of

#: The code of a statement that never matches, by the clauses that the contradiction needs.
_HINTS = {
    "having-never": "correct HAVING, or the conditions that it contradicts",
    "impossible-within": "make WITHIN longer, or the time conditions shorter",
    "contradicting-steps": "correct or delete one of them",
    "vacuous": "correct or delete one of them",
}


def vacuous_finding(statement: CheckedSubscription, cores: Iterable[Sequence[Labelled]]) -> Finding:
    """The finding about a statement that never matches."""
    cores = tuple(cores)
    found = culprits(cores)
    code = _code(found)
    place = _place(code, found, statement)
    if not found:
        return Finding(code, statement.name, f"'{statement.name}' never matches", place)
    if len(found) == 1:
        message = f"'{statement.name}' never matches: {found[0].text} cannot be met"
    else:
        every = "" if len(cores) == 1 else "on each way through the pattern "
        message = f"'{statement.name}' never matches: {every}{listed(found)} contradict each other"
    return Finding(code, statement.name, message, place, _HINTS[code])


def vacuous_source_finding(statement: CheckedSubscription, sources: Sequence[str]) -> Finding:
    """The finding about a statement that reads only statements that never match."""
    names = " and ".join(f"'{name}'" for name in sources)
    verb = "matches" if len(sources) == 1 else "match"
    message = f"'{statement.name}' never matches: it reads {names}, which never {verb}"
    place = place_of(statement.tree.streams[0])
    return Finding("vacuous", statement.name, message, place, "correct what it reads first")


def _code(found: Sequence[Culprit]) -> str:
    forms = {culprit.form for culprit in found}
    if "HAVING" in forms:
        return "having-never"
    if "WITHIN" in forms:
        return "impossible-within"
    if forms and forms <= {"condition", "variable"}:
        return "contradicting-steps"
    return "vacuous"


def _place(code: str, found: Sequence[Culprit], statement: CheckedSubscription) -> Place:
    """That of the clause which the code is about, else of the last condition in the text."""
    form = {"having-never": "HAVING", "impossible-within": "WITHIN"}.get(code)
    places = [culprit.place for culprit in found if culprit.place.line and form in (None, culprit.form)]
    return places[-1] if places else place_of(statement.tree.name)


def dead_step_finding(
    statement: CheckedSubscription,
    steps: Sequence[str],
    cores: Iterable[Sequence[Labelled]],
    witness: Witness | None,
) -> Finding:
    """The finding about steps that no match binds, although the statement matches without them."""
    found = culprits(cores)
    place = statement.steps[steps[0]].shape.place
    names = " and ".join(f"'{step}'" for step in steps)
    reason = f": {listed(found)} contradict each other" if len(found) > 1 else ""
    if len(found) == 1:
        reason = f": {listed(found)} cannot be met"
    message = f"no match of '{statement.name}' binds {names}{reason}"
    hint = f"delete {names}, or correct the conditions: a partial match that waits for it never completes"
    return Finding("dead-branch", statement.name, message, place, hint, witness)


def undecided(code: str, statement: CheckedSubscription, question: str, reason: str, place: Place) -> Finding:
    """A finding that says which question has no answer, and why."""
    return Finding(code, statement.name, f"cannot tell {question}: {reason}", place, certain=False)
