"""All checks of a program, one statement after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from foretell.check.assumed_schemas import ClosedProgram
from foretell.check.codes import is_note
from foretell.check.costs.statement_costs import cost_findings
from foretell.check.deadline import Deadline
from foretell.check.finding import Finding
from foretell.check.redundancy import duplicate_statements, equivalent_statements, indistinct_steps, unused_streams
from foretell.check.subscriptions.known_matches import KnownMatches
from foretell.check.suppressions import AllowedCode, allowances_of
from foretell.events.types import Type
from foretell.language.checked import CheckedCorrelator, CheckedProgram, CheckedStatement
from foretell.language.subscriptions import Subscriptions
from foretell.language.tree import place_of
from foretell.records import record


@record
class CheckSettings:
    """The seconds that a single statement may take, and whether costs are noted; `parameters` are the columns of the
    FOR EACH tables that are known."""

    statement_seconds: float = 5.0
    costs: bool = False
    parameters: Mapping[str, Mapping[str, Type]] | None = None


@record
class ProgramFindings:
    """The findings of a program. `undecided` are questions that ran into a limit, `unasked` the statements for which
    no time was left."""

    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    undecided: tuple[Finding, ...]
    silenced: int
    unasked: tuple[str, ...]


def check_program(
    subscriptions: Subscriptions, closed: ClosedProgram, deadline: Deadline, settings: CheckSettings
) -> ProgramFindings:
    """The findings of all checks, without those that the text allows."""
    checked = closed.program
    found = [*unused_streams(subscriptions.program), *duplicate_statements(checked)]
    unasked: list[str] = []
    known = KnownMatches()
    for statement in checked.statements:
        found += indistinct_steps(statement)
        costs = list(cost_findings(statement))
        found += costs
        if settings.costs and not costs:
            found += _notes(statement, checked, settings)
        if statement.name in closed.untyped:
            found.append(_untyped(statement, closed.reason))
        elif deadline.is_over:
            unasked.append(statement.name)
        else:
            found += _findings_by_meaning(statement, checked, deadline.part(settings.statement_seconds), known)
    if not closed.untyped:
        found += equivalent_statements(checked, deadline)
    return _allowed(subscriptions, found, tuple(unasked), settings)


def _untyped(statement: CheckedStatement, reason: str) -> Finding:
    name = statement.name
    message = f"cannot tell whether '{name}' makes sense, as the types of what it reads are not known: {reason}"
    hint = "declare its streams with STREAM, or give events with --input"
    return Finding("not-decided", name, message, place_of(statement.tree.name), hint, certain=False)


def _findings_by_meaning(
    statement: CheckedStatement, program: CheckedProgram, deadline: Deadline, known: KnownMatches
) -> Iterator[Finding]:
    """The findings that need an automaton or a solver, which load when a statement asks for them."""
    if isinstance(statement, CheckedCorrelator):
        from foretell.check.automata.findings import correlator_findings

        return correlator_findings(statement, program, deadline)
    from foretell.check.subscriptions.findings import subscription_findings

    return subscription_findings(statement, program, deadline, known)


def _notes(statement: CheckedStatement, program: CheckedProgram, settings: CheckSettings) -> Iterator[Finding]:
    from foretell.check.costs.notes import cost_notes  # loads the planner

    return cost_notes(statement, program, settings.parameters or {})


def _allowed(
    subscriptions: Subscriptions, found: list[Finding], unasked: tuple[str, ...], settings: CheckSettings
) -> ProgramFindings:
    """The findings that the text does not allow, in order. Only allowances whose code was asked for count as unused."""
    allowances = allowances_of(subscriptions.text, subscriptions.program.statements)
    silenced = allowances.silence(found)
    open_questions = {*unasked, *(finding.statement for finding in found if not finding.certain)}

    def looked_for(allowed: AllowedCode) -> bool:
        return not open_questions and (settings.costs or not is_note(allowed.code))

    remaining = sorted(
        (*silenced.remaining, *allowances.mistakes, *allowances.unused(silenced.used, looked_for)), key=_order
    )
    certain = [finding for finding in remaining if finding.certain]
    return ProgramFindings(
        findings=tuple(finding for finding in certain if not is_note(finding.code)),
        notes=tuple(finding for finding in certain if is_note(finding.code)),
        undecided=tuple(finding for finding in remaining if not finding.certain),
        silenced=len(silenced.silenced),
        unasked=unasked,
    )


def _order(finding: Finding) -> tuple[int, int, str]:
    return finding.place.line, finding.place.column, finding.code
