"""Training of LOSING: runs the statements that find the gaps of a history in this process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from foretell.engine.planning import start_runtime
from foretell.errors import InputError
from foretell.events.delays.delay_model import gaps_document
from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.subscriptions import Subscriptions, of_program
from foretell.learn.settings import Learning
from foretell.machine.exec.limits import LEAST_MEMORY, Limits
from foretell.notify.collected_notifications import collect
from foretell.notify.notifications import Notifications
from foretell.plan.lower.program import UnsupportedError
from foretell.recover.gap_counter import GapCounter

if TYPE_CHECKING:
    from foretell.api.forecasting import History


#: The memory that counting gaps takes, for each byte of their notifications.
_WORK_ON_GAPS = 16


def trained_gaps(program: Subscriptions, history: History, settings: Learning) -> dict[str, Mapping[str, object]]:
    """The gaps of each statement with LOSING, as a model file has them."""

    def run(statement: tree.Subscription) -> pa.Table:
        return _flat_table(program, statement, history)

    return {
        s.name: {"gaps": gaps_document(GapCounter(s, run, settings.complete).counts())}
        for s in history.checked(program).statements
        if isinstance(s, CheckedSubscription) and s.tree.losing is not None
    }


def without_losing(program: Subscriptions) -> Subscriptions:
    kept = [s for s in program.program.statements if getattr(s, "losing", None) is None]
    return of_program(tree.Program(tuple(kept)))


def _limits() -> Limits:
    """The gaps are counted in memory, where their columns stand beside what the counts are made of."""
    return replace(Limits(), results=max(LEAST_MEMORY, Limits().budget // _WORK_ON_GAPS))


def _flat_table(program: Subscriptions, statement: tree.Subscription, history: History) -> pa.Table:
    """The notifications of a statement in place of the one of its name, with a column for each field."""
    statements = [statement if s.name == statement.name else s for s in program.program.statements]
    reduced = of_program(tree.Program(tuple(statements)))[str(statement.name)]
    checked = history.checked(reduced)
    try:
        runtime = start_runtime(checked, history.tables, _limits())
    except UnsupportedError as error:
        hint = "put the other statements into a file of their own"
        raise InputError("not-in-engine", f"LOSING over {error} cannot be trained yet", hint=hint) from None
    batches = {name: batch for name, batch in history.batches.items() if name in reduced.sources}
    try:
        rows = collect(runtime.pieces(batches, None, ends=True), runtime.ledger)
    except InputError as error:
        if error.code != "results-limit":
            raise
        message = f"the history has more gaps of '{statement.name}' than fit into memory"
        raise InputError("too-many-gaps", message, hint="add WITHIN, or train on a shorter history") from None
    table = Notifications(rows, statements=checked.statements).to_arrow(flat=True)
    return table.filter(pc.field("subscription") == str(statement.name))
