"""The statements that are here, with what is known of their streams and tables; at work once events have come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from foretell.engine.input_registry import InputRegistry
from foretell.engine.settings import EngineSettings
from foretell.engine.template_tables import LiveTable
from foretell.engine.work import Work
from foretell.errors import ForetellError, InputError, refuse, suggestion
from foretell.events.ingest.reader import EventBatch, TemplateTable
from foretell.events.reorder_buffer import ReorderBuffer
from foretell.events.types import Scalar, Type
from foretell.language import tree
from foretell.language.check import Checker
from foretell.language.checked import CheckedProgram, CheckedStatement, CheckedSubscription
from foretell.language.parser import parse as parse_text
from foretell.language.statement_registry import StatementRegistry
from foretell.language.subscriptions import Subscriptions
from foretell.language.tree import place_of
from foretell.machine.runtime import MatchRuntime
from foretell.plan.lower.program import UnsupportedError


@dataclass
class Deployment:
    """Statements come and go, and with them what is known. `checking` is what is taken on trust before the first
    events, once it is asked for."""

    statements: StatementRegistry
    inputs: InputRegistry
    tables: dict[str, LiveTable]
    settings: EngineSettings
    checking: Checker | None = None
    work: Work | None = None

    # ── statements ──

    def add(self, new: Subscriptions, tables: Mapping[str, LiveTable]) -> None:
        self._refuse_unknown(new)
        checking = self._known()
        self.statements.add(new)
        self.tables |= tables
        try:
            self._learn(new)
            for statement in checking.add(new.program, self._columns()):
                self._begin(statement)
        except ForetellError:
            for one in reversed(new.program.statements):
                self.remove(str(one.name))
            raise

    def _begin(self, statement: CheckedStatement) -> None:
        """Puts a statement to work, if there is work already."""
        if self.work is None:
            return
        table = statement.tree.table if isinstance(statement, CheckedSubscription) else None
        try:
            self.work.add(statement, None if table is None else self.tables[table])
        except UnsupportedError as error:
            raise _not_in_engine(error) from None

    def remove(self, name: str) -> None:
        """Whatever is here of a statement: one that is refused has not come far."""
        statement = self.statements.said[name].tree
        self.statements.remove(name)
        if self.work is not None:
            self.work.remove(name)
        if isinstance(statement, tree.Stream):
            self.leave(name)
        if self.checking is not None:
            self.checking.remove(name)
        table = statement.table if isinstance(statement, tree.Subscription) else None
        if table is not None and table not in self.statements.templates:
            self.tables.pop(table, None)

    def leave(self, stream: str) -> None:
        """Nothing is known of a stream any more."""
        self.inputs.schemas.pop(stream, None)
        if self.checking is not None:
            self.checking.streams.pop(stream, None)
        if self.work is not None:
            self.work.waiting.leave(stream)

    def be(self, statements: StatementRegistry) -> None:
        """The same statements, in another order or text; how late events may come is said there too."""
        self.statements = self.inputs.statements = statements
        if self.work is not None:
            for name in self.inputs.schemas:
                self.work.waiting.meet(name, self.inputs.lateness(name))

    def _refuse_unknown(self, new: Subscriptions) -> None:
        """Streams of which nothing is known."""
        for stream in new.sources:
            here = stream in new.declared or stream in self.statements or stream in self.inputs
            if not here and stream not in self.inputs.time:
                hint = suggestion(stream, [*self.statements.said, *self.statements.readers])
                hint = hint or f"declare it: STREAM {stream} (attribute TYPE, ...) TIME column"
                refuse("unknown-stream", f"unknown stream '{stream}'", place_of(stream), hint)

    def add_rows(self, table: LiveTable, rows: TemplateTable) -> None:
        if self.work is not None:
            for name in self.statements.templates[table.name]:
                self.work.running.add_rows(name, rows)
        table.add(rows)

    def remove_rows(self, table: LiveTable, ids: list[Scalar]) -> None:
        if self.work is not None:
            for name in self.statements.templates[table.name]:
                self.work.running.remove_rows(name, ids)
        table.remove(ids)

    def change_rows(self, table: LiveTable, wanted: LiveTable) -> None:
        """Rows as they are wanted: one with other values is another row."""
        self.remove_rows(table, [n for n, row in table.rows.items() if wanted.rows.get(n) != row])
        self.add_rows(table, TemplateTable(table.types, [r for n, r in wanted.rows.items() if n not in table.rows]))

    def table(self, name: object) -> LiveTable:
        if not isinstance(name, str) or name not in self.tables:
            said = self.statements.said.get(str(name))
            table = said.tree.table if said is not None and isinstance(said.tree, tree.Subscription) else None
            hint = suggestion(str(name), self.tables) if table is None else f"'{name}' is FOR EACH '{table}'"
            raise InputError("unread-table", f"no statement is FOR EACH '{name}'", hint=hint)
        return self.tables[name]

    # ── what is known ──

    def _columns(self) -> dict[str, Mapping[str, Type]]:
        return {name: table.types for name, table in self.tables.items()}

    def _known(self) -> Checker:
        if self.checking is None:
            self.checking = Checker()
            self._check(self.checking)
        return self.checking

    def _check(self, checking: Checker) -> tuple[CheckedStatement, ...]:
        """All statements, text by text."""
        checked: list[CheckedStatement] = []
        for part in self.statements.parts():
            try:
                checked += checking.add(part.program, self._columns())
            except ForetellError as error:
                raise error.within(part.text, part.file) from None
        return tuple(checked)

    def _learn(self, new: Subscriptions) -> None:
        """While events come, a stream must be known when somebody begins to read it, or when its events come."""
        for name in [*new.declared, *new.sources]:
            self._meet(str(name))

    def _meet(self, name: str) -> None:
        if self.work is None or name in self.work.waiting.lateness or self.statements.makes(name):
            return
        assert self.checking is not None
        self.checking.streams[name] = self.inputs.learn(name)
        self.work.waiting.meet(name, self.inputs.lateness(name))

    def at_work(self, loaded: EventBatch) -> Work:
        """The statements at work: they begin with the first events, which show what the text leaves open."""
        if self.work is None:
            inputs = InputRegistry(self.statements, self.inputs.time)
            inputs.begin(loaded)
            checking = Checker(inputs.schemas)
            checked = CheckedProgram(checking.streams, self._check(checking), checking.ranks)
            tables = {name: table.loaded() for name, table in self.tables.items()}
            try:
                running = MatchRuntime(checked, tables, self.settings.limits, self.settings.forecasts)
            except UnsupportedError as error:
                raise _not_in_engine(error) from None
            waiting = ReorderBuffer({name: inputs.lateness(name) for name in inputs.schemas})
            self.inputs, self.checking = inputs, checking
            self.work = Work(running, waiting)
        self._meet(loaded.stream)
        return self.work

    def go_on(self, state: Mapping[str, Any], *, anew: bool) -> None:
        """Puts the statements to work where they were."""
        checking = Checker(self.inputs.schemas)
        checking.rank(state["ranks"])
        checked = CheckedProgram(checking.streams, self._check(checking), checking.ranks)
        tables = {name: table.loaded() for name, table in self.tables.items()}
        running = MatchRuntime.restore(
            state["running"],
            checked,
            tables,
            lambda text: _rechecked(checking, text),
            self.settings.limits,
            replace(self.settings.forecasts, anew=anew),
        )
        lateness = {name: self.inputs.lateness(name) for name in self.inputs.schemas}
        self.checking = checking
        self.work = Work(running, ReorderBuffer.restore(lateness, state["waiting"]))


def _not_in_engine(error: UnsupportedError) -> InputError:
    return InputError("not-in-engine", f"this engine does not run {error} yet")


def _rechecked(checking: Checker, text: str) -> CheckedSubscription:
    (statement,) = parse_text(text).statements
    assert isinstance(statement, tree.Subscription)
    return checking.recheck(statement)
