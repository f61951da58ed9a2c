"""Snapshots: all of an engine as bytes, and from those, perhaps with other statements, an engine that goes on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foretell.engine.deployment import Deployment
from foretell.engine.input_registry import InputRegistry
from foretell.engine.settings import EngineSettings, live_tables
from foretell.engine.template_tables import LiveTable
from foretell.errors import ForetellError, InputError
from foretell.language import tree
from foretell.language.parser import parse as parse_text
from foretell.language.pattern_shape import has_optional_after_negation
from foretell.language.printer import program_text
from foretell.language.statement_diff import StatementDiff, changes, readers_first
from foretell.language.statement_registry import StatementRegistry
from foretell.language.subscriptions import Subscriptions
from foretell.learn.model import Model
from foretell.learn.settings import Learning
from foretell.machine.exec.limits import Limits
from foretell.plan.lower.program import UnsupportedError
from foretell.storage.blob import pack, unpack

#: The layout of snapshots: this version reads its own and those before it. Since 3 a negation before a part that can be
#: empty stays where that part is left out (decision 0002, item 8), so such patterns have other states than before.
LAYOUT = 3


def take_snapshot(here: Deployment) -> bytes:
    """Statements, tables, and all that they wait for."""
    program = here.statements.subscriptions().program
    state: dict[str, Any] = {
        "statements": program_text(program),
        "tables": {str(name): table.state() for name, table in here.tables.items()},
        "inputs": here.inputs.state(),
        **here.settings.state(),
        "work": None,
    }
    if here.work is not None:
        assert here.checking is not None
        ranks = {str(name): rank for name, rank in here.checking.ranks.items()}
        state["work"] = {
            "ranks": sorted(ranks, key=ranks.__getitem__),
            "waiting": here.work.waiting.state(),
            "running": here.work.running.state(),
        }
    return pack("engine", {"layout": LAYOUT, "statements": _fingerprint(program)}, state)


@dataclass(frozen=True)
class RestoreRequest:
    """What an engine is to be that goes on from a snapshot. What is None, or not named, is as it was there."""

    subscriptions: Subscriptions | None
    time: Mapping[str, str]
    tables: Mapping[str, object]
    limits: Limits
    model: Model | None
    learning: Learning | None


def restore_snapshot(snapshot: bytes, wanted: RestoreRequest) -> tuple[Deployment, StatementDiff]:
    """What is here now, and what has become of the statements of the snapshot."""
    header, state = unpack(snapshot, "engine")
    if header.get("layout", LAYOUT) > LAYOUT:
        hint = "it was made by a newer version of Foretell"
        raise InputError("newer-snapshot", f"the snapshot has layout {header['layout']}, not {LAYOUT}", hint=hint)
    said = wanted.subscriptions
    same = said is not None and _fingerprint(said.program) == header.get("statements")
    before = _as_it_was(header.get("layout", LAYOUT), state, said if same else None, wanted)
    return _Migration(before, said or before.statements.subscriptions(), wanted.time, wanted.tables).now()


def _as_it_was(layout: int, state: Mapping[str, Any], same: Subscriptions | None, wanted: RestoreRequest) -> Deployment:
    """What was there when the snapshot was made; where a model is given forecasts begin anew with it."""
    try:
        settings = EngineSettings.restore(state, wanted.limits, wanted.model, wanted.learning)
        text = state["statements"]
        statements = StatementRegistry(same or Subscriptions(parse_text(text), text))
        tables = {name: LiveTable.restore(name, one) for name, one in state["tables"].items()}
        here = Deployment(statements, InputRegistry.restore(statements, state["inputs"]), tables, settings)
        if state["work"] is not None:
            if layout < 3:
                _refuse_other_states(statements)
            here.go_on(state["work"], anew=wanted.model is not None)
    except (ForetellError, UnsupportedError) as error:
        raise _unusable(str(error)) from None
    except (LookupError, TypeError, ValueError, AttributeError, AssertionError):
        raise _unusable("its parts are not those that are expected") from None
    return here


@dataclass(frozen=True)
class _Migration:
    """From what was there to the statements, time columns and tables that are wanted now."""

    before: Deployment
    wanted: Subscriptions
    time: Mapping[str, str]
    given: Mapping[str, object]

    def now(self) -> tuple[Deployment, StatementDiff]:
        here, now = self.before, StatementRegistry(self.wanted)
        time, tables = self._times(), self._tables_now(now)
        retyped = [n for n, table in tables.items() if n in here.tables and table.types != here.tables[n].types]
        found = changes(here.statements, now, retyped)
        if not found.carried and (found.fresh or found.dropped or found.streams):
            return Deployment(now, InputRegistry(now, time), tables, here.settings), found
        here.inputs.time = time
        self._replace(found, now, tables)
        return here, found

    def _times(self) -> dict[str, str]:
        known = self.before.inputs.time
        for name, column in self.time.items():
            if known.get(name, column) != column:
                message = f"the time of stream '{name}' is '{known[name]}' in the snapshot, not '{column}'"
                raise InputError("time-twice", message)
        return {**known, **self.time}

    def _tables_now(self, now: StatementRegistry) -> dict[str, LiveTable]:
        """Those that are given, and the others as they were."""
        known = {name: table for name, table in self.before.tables.items() if name not in self.given}
        given = live_tables([name for name in now.templates if name not in known], self.given)
        return {name: given[name] if name in given else known[name] for name in now.templates}

    def _replace(self, found: StatementDiff, now: StatementRegistry, tables: Mapping[str, LiveTable]) -> None:
        here, carried = self.before, set(found.carried)
        for stream in found.streams:
            self._refuse_held(stream)
        for name in readers_first([n for n in here.statements.made if n not in carried], here.statements):
            here.remove(name)
        for name in [n for n in here.statements.said if n not in carried and (n in found.streams or n not in now)]:
            here.remove(name)
        for stream in found.streams:
            here.leave(stream)
        for name, table in here.tables.items():
            if tables[name] is not table:
                here.change_rows(table, tables[name])
        fresh = tuple(s for s in self.wanted.program.statements if s.name not in here.statements)
        new = {name: table for name, table in tables.items() if name not in here.tables}
        here.add(Subscriptions(tree.Program(fresh), self.wanted.text, self.wanted.file), new)
        here.be(now)

    def _refuse_held(self, stream: str) -> None:
        work = self.before.work
        if work is not None and work.waiting.holds(stream):
            message = f"stream '{stream}' is declared otherwise now, and the snapshot holds back events of it"
            raise InputError("changed-stream", message, hint="end() before the snapshot lets them go")


def _refuse_other_states(statements: StatementRegistry) -> None:
    """Partial matches from before layout 3 cannot go on where a negation stands before a part that can be empty."""
    for statement in statements.subscriptions().program.statements:
        if isinstance(statement, tree.Subscription) and has_optional_after_negation(statement.pattern):
            raise InputError(
                "unusable-snapshot",
                f"the pattern of '{statement.name}' has had another meaning since the snapshot: a negation before a "
                "part that can be empty now stays where that part is left out",
            )


def _unusable(why: str) -> InputError:
    hint = "another version of Foretell made it; an engine without it begins anew"
    return InputError("unusable-snapshot", f"this version cannot go on from the snapshot: {why}", hint=hint)


def _fingerprint(program: tree.Program) -> str:
    return hashlib.sha256(program_text(program).encode("utf-8", "surrogatepass")).hexdigest()
