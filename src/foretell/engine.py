"""The engine in process: subscriptions at work on events that are pushed to them, batch by batch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from foretell.errors import ForetellError, InputError, refuse, suggestion
from foretell.events.notification import Notification
from foretell.events.read import BadEvent, Loaded, LoadedTable, read
from foretell.events.types import Scalar, Type
from foretell.events.waiting import Late, Waiting, shown_time
from foretell.forecast.expectation import Asked
from foretell.forecast.outlook import Outlook, outlooks
from foretell.forecast.watchers import Forecasts, untrained
from foretell.given.arguments import by_name, columns_by_name, wrong
from foretell.given.inputs import Inputs
from foretell.given.model import model_of
from foretell.given.sources import read_tables
from foretell.given.statements import statements_of
from foretell.given.tables import Table
from foretell.given.until import end_of_time
from foretell.language import tree
from foretell.language.changes import Changes, changes, readers_first
from foretell.language.check import Checking
from foretell.language.checked import Checked, CheckedStatement, CheckedSubscription
from foretell.language.parser import parse as parse_text
from foretell.language.printer import horizon_text, program_text
from foretell.language.statements import Statements
from foretell.language.subscriptions import Subscriptions
from foretell.language.tree import place_of
from foretell.learn.model import Model
from foretell.learn.settings import Learning
from foretell.machine.limits import Limits
from foretell.machine.packed import pack, unpack
from foretell.machine.running import Running
from foretell.machine.told import Told, rows
from foretell.notify.notifications import Notifications
from foretell.plan.program import UnsupportedError

#: How snapshots are laid out: this version reads its own and those before it.
LAYOUT = 2


@dataclass(frozen=True)
class ToldTogether:
    """What batches bring, as columns: the results of each statement, and the late events of each stream."""

    told: tuple[Told, ...]
    bad: tuple[BadEvent, ...] = ()
    totals: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    late: tuple[Late, ...] = ()


class Engine:
    """Subscriptions at work.

    >>> engine = Engine("STREAM s (k STRING, time INT) TIME time;"
    ...                 "SUBSCRIBE pair FROM s MATCH a , b DEFINE a AS k = 'a', b AS k = 'b';")
    >>> len(engine.push("s", [{"time": 1, "k": "a"}]))
    0
    >>> engine.push("s", [{"time": 2, "k": "b"}])[0].events
    {'a': 0, 'b': 1}

    Subscriptions come and go while it runs, each from the next event on:

    >>> engine.subscribe("SUBSCRIBE again FROM s MATCH a DEFINE a AS k = 'a'")
    >>> engine.unsubscribe("pair")
    >>> [n.subscription for n in engine.push("s", [{"time": 3, "k": "a"}])]
    ['again']
    """

    #: Of a restored engine: the statements that go on, those that begin anew, and those that are here no more.
    carried: tuple[str, ...] = ()
    fresh: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    def __init__(
        self,
        subscriptions: Any,
        *,
        time: Mapping[str, str] | None = None,
        tables: Mapping[str, object] | None = None,
        limits: Limits | None = None,
        model: object = None,
        learning: Learning | None = None,
    ) -> None:
        self._limits = _limits(limits)
        self._statements = Statements(statements_of(subscriptions))
        self._model, self._learning = model_of(model), _learning(learning)
        #: What a model has nothing to say of.
        self.untrained = untrained(self._model, self._statements.subscriptions())
        self._inputs = Inputs(self._statements, _time_columns(time))
        self._tables = _tables(self._statements.templates, _given_tables(tables))
        self._checking: Checking | None = None  # before the first events: what is taken on trust, once it is asked for
        self._work: _Work | None = None

    @property
    def subscriptions(self) -> Subscriptions:
        """The statements that are here now."""
        return self._statements.subscriptions()

    @property
    def late(self) -> dict[str, int]:
        """How many events of each stream have come later than LATE BY allows."""
        return {} if self._work is None else dict(self._work.waiting.late)

    @property
    def partial_matches(self) -> int:
        """How many partial matches there are, of all subscriptions in all lanes."""
        return 0 if self._work is None else sum(self._work.running.ledger.held.values())

    @property
    def waiting(self) -> int:
        """How many events wait for later ones, of streams with LATE BY."""
        return 0 if self._work is None else len(self._work.waiting)

    @property
    def refused(self) -> tuple[tuple[str, Mapping[str, Scalar]], ...]:
        """The subscriptions that are told nothing more in a lane, with its key, since the limits were passed there."""
        return () if self._work is None else tuple(self._work.running.ledger.refused)

    @property
    def dropped_matches(self) -> dict[str, int]:
        """How many partial matches of each subscription the limits have cost."""
        return {} if self._work is None else dict(self._work.running.ledger.dropped)

    # ── events ──

    def push(self, stream: str, batch: object, *, strict: bool = False) -> Notifications:
        """What a batch of events brings. Its events may be in any order.

        None may be earlier than those before it, less the LATE BY of the streams; such events are set aside, in `late`,
        or where the stream has no LATE BY the batch is refused. Malformed events are set aside, in `bad`. A batch that
        is refused leaves the engine as it was.
        """
        loaded = read(batch, self._inputs.declaration(self._inputs.expected(stream)), strict=strict)
        totals = ((stream, loaded.total),)
        if not loaded.table.num_rows:
            return Notifications((), loaded.bad, totals)
        work = self._at_work(loaded)
        late = work.waiting.add(loaded)
        self._inputs.schemas[stream] = loaded.schema
        found = work.go_on()
        return Notifications(found, loaded.bad, totals, work.running.ledger.tell(), late.events())

    def push_together(
        self, batches: Mapping[str, object], latest: Mapping[str, int | float] | None = None
    ) -> Notifications:
        """What batches of several streams bring that come at once: none makes events of another late.

        Where several engines share the lanes of the streams, each is told in `latest` how far every stream has come in
        all of them (a TIMESTAMP in microseconds), so that time passes for all lanes together.
        """
        told = self.tell_together(batches, latest)
        set_aside = tuple(event for one in told.late for event in one.events())
        return Notifications(tuple(rows(told.told)), told.bad, told.totals, told.notes, set_aside)

    def tell_together(
        self, batches: Mapping[str, object], latest: Mapping[str, int | float] | None = None
    ) -> ToldTogether:
        """The same as columns, for those who hand them on as such."""
        streams = [self._inputs.expected(stream) for stream in batches]
        read_in = [read(batches[stream], self._inputs.declaration(stream)) for stream in streams]
        for loaded in read_in:
            self._at_work(loaded)
            self._inputs.schemas[loaded.stream] = loaded.schema
        bad = tuple(one for loaded in read_in for one in loaded.bad)
        totals = tuple((loaded.stream, loaded.total) for loaded in read_in)
        if self._work is None:
            return ToldTogether((), bad, totals)
        late = self._work.waiting.add_together(read_in)
        self._work.waiting.see(latest or {})
        told = self._work.told()
        return ToldTogether(tuple(told), bad, totals, self._work.running.ledger.tell(), tuple(late))

    def advance(self, now: str | int | float | date | datetime) -> Notifications:
        """Lets time go on: what only time completes by then, with the events before it that were held back.

        An event at `now` itself may still come; those that have come wait for it.
        """
        kinds = {schema.time_type for schema in self._inputs.schemas.values()} - {Type.UNKNOWN}
        until = end_of_time(now, kinds)
        if self._work is None or until is None:
            return Notifications(())
        waiting = self._work.waiting
        if until < waiting.time:
            shown = shown_time(waiting.time, next(iter(kinds)))
            raise InputError("out-of-order", f"time does not go back: it is {shown} already")
        waiting.advance(until)
        found = self._work.tell(waiting.ready(), until)
        return Notifications(found, notes=self._work.running.ledger.tell())

    def end(self) -> Notifications:
        """No more events will come: what those bring that were held back. Time ends with the last of them."""
        return Notifications(() if self._work is None else self._work.tell(self._work.waiting.end()))

    def outlook(self, name: str, *, confidence: float = 0.8, reach: float = 4.0) -> list[Outlook]:
        """What a subscription with FORECAST may expect now, likeliest first: for each lane that has been seen or, where
        a value tells partial matches of a lane apart, for each value that has any.

        The intervals hold the next match with this `confidence`; they look `reach` times as far as the FORECAST.
        """
        asked = Asked(confidence, reach)
        horizon = horizon_text(self._forecast_of(name))
        if self._work is None:
            return []
        watched = self._work.running.watched(name)
        found = [one for whose in watched for one in outlooks(name, horizon, whose, asked)]
        return sorted(found, key=lambda one: -1.0 if one.probability is None else one.probability, reverse=True)

    def _forecast_of(self, name: object) -> tree.Forecast:
        said = self._statements.known(name)
        forecast = said.forecast if isinstance(said, tree.Subscription) else None
        if forecast is None:
            hint = "add FORECAST WITHIN 5 EVENTS ABOVE 0.8 to it"
            raise InputError("no-forecasts", f"'{name}' does not ask for forecasts", hint=hint)
        return forecast

    # ── subscriptions ──

    def subscribe(self, subscriptions: Any, *, tables: Mapping[str, object] | None = None) -> None:
        """More statements, from the next event on: their matches have only events that come after this.

        They may read the streams and statements that are here, and streams that they declare. `tables` has the rows of
        those that are FOR EACH. What is refused changes nothing.
        """
        said = statements_of(subscriptions)
        given = _given_tables(tables)
        for name in given:
            if name in self._tables:
                hint = f"change it with add_rows({name!r}, ...) and remove_rows"
                raise InputError("known-table", f"the table '{name}' is there already", hint=hint)
        try:
            new = self._statements.new(said)
            self._add(new, _tables([name for name in new.tables if name not in self._tables], given))
        except ForetellError as error:
            raise error.within(said.text, said.file) from None

    def unsubscribe(self, name: str) -> None:
        """A statement less; no other may read it. It is told nothing more, not even of what has begun already."""
        self._remove(self._statements.leaving(name))

    def add_rows(self, table: str, rows: object) -> None:
        """More rows of a FOR EACH table: each is a subscription from the next event on."""
        known = self._table(table)
        self._add_rows(known, known.new(rows))

    def remove_rows(self, table: str, ids: Iterable[Scalar]) -> None:
        """Rows less, by their ids. They are told nothing more, not even of what has begun already."""
        known = self._table(table)
        self._remove_rows(known, known.leaving(ids))

    def _add_rows(self, table: Table, rows: LoadedTable) -> None:
        if self._work is not None:
            for name in self._statements.templates[table.name]:
                self._work.running.add_rows(name, rows)
        table.add(rows)

    def _remove_rows(self, table: Table, ids: list[Scalar]) -> None:
        if self._work is not None:
            for name in self._statements.templates[table.name]:
                self._work.running.remove_rows(name, ids)
        table.remove(ids)

    def _change_rows(self, table: Table, wanted: Table) -> None:
        """Rows as they are wanted: one with other values is another row."""
        self._remove_rows(table, [n for n, row in table.rows.items() if wanted.rows.get(n) != row])
        self._add_rows(table, LoadedTable(table.types, [r for n, r in wanted.rows.items() if n not in table.rows]))

    def _table(self, name: object) -> Table:
        if not isinstance(name, str) or name not in self._tables:
            said = self._statements.said.get(str(name))
            table = said.tree.table if said is not None and isinstance(said.tree, tree.Subscription) else None
            hint = suggestion(str(name), self._tables) if table is None else f"'{name}' is FOR EACH '{table}'"
            raise InputError("unread-table", f"no statement is FOR EACH '{name}'", hint=hint)
        return self._tables[name]

    def _add(self, new: Subscriptions, tables: Mapping[str, Table]) -> None:
        self._refuse_unknown(new)
        checking = self._known()
        self._statements.add(new)
        self._tables |= tables
        try:
            self._learn(new)
            for statement in checking.add(new.program, self._columns()):
                self._begin(statement)
        except ForetellError:
            for one in reversed(new.program.statements):
                self._remove(str(one.name))
            raise

    def _begin(self, statement: CheckedStatement) -> None:
        """Puts a statement to work, if there is work already."""
        if self._work is None:
            return
        table = statement.tree.table if isinstance(statement, CheckedSubscription) else None
        try:
            self._work.add(statement, None if table is None else self._tables[table])
        except UnsupportedError as error:
            raise _not_in_engine(error) from None

    def _remove(self, name: str) -> None:
        """Whatever is here of a statement: one that is refused has not come far."""
        statement = self._statements.said[name].tree
        self._statements.remove(name)
        if self._work is not None:
            self._work.remove(name)
        if isinstance(statement, tree.Stream):
            self._leave(name)
        if self._checking is not None:
            self._checking.remove(name)
        table = statement.table if isinstance(statement, tree.Subscription) else None
        if table is not None and table not in self._statements.templates:
            self._tables.pop(table, None)

    def _leave(self, stream: str) -> None:
        """Nothing is known of a stream any more."""
        self._inputs.schemas.pop(stream, None)
        if self._checking is not None:
            self._checking.streams.pop(stream, None)
        if self._work is not None:
            self._work.waiting.leave(stream)

    def _be(self, statements: Statements) -> None:
        """The same statements, in another order or text; how late events may come is said there too."""
        self._statements = self._inputs.statements = statements
        if self._work is not None:
            for name in self._inputs.schemas:
                self._work.waiting.meet(name, self._inputs.lateness(name))

    def _refuse_unknown(self, new: Subscriptions) -> None:
        """Streams of which nothing is known."""
        for stream in new.sources:
            here = stream in new.declared or stream in self._statements or stream in self._inputs
            if not here and stream not in self._inputs.time:
                hint = suggestion(stream, [*self._statements.said, *self._statements.readers])
                hint = hint or f"declare it: STREAM {stream} (attribute TYPE, ...) TIME column"
                refuse("unknown-stream", f"unknown stream '{stream}'", place_of(stream), hint)

    # ── what is known ──

    def _columns(self) -> dict[str, Mapping[str, Type]]:
        return {name: table.types for name, table in self._tables.items()}

    def _known(self) -> Checking:
        if self._checking is None:
            self._checking = Checking()
            self._check(self._checking)
        return self._checking

    def _check(self, checking: Checking) -> tuple[CheckedStatement, ...]:
        """All statements, text by text."""
        checked: list[CheckedStatement] = []
        for part in self._statements.parts():
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
        if self._work is None or name in self._work.waiting.lateness or self._statements.makes(name):
            return
        assert self._checking is not None
        self._checking.streams[name] = self._inputs.learn(name)
        self._work.waiting.meet(name, self._inputs.lateness(name))

    def _at_work(self, loaded: Loaded) -> _Work:
        """The statements at work: they begin with the first events, which show what the text leaves open."""
        if self._work is None:
            inputs = Inputs(self._statements, self._inputs.time)
            inputs.begin(loaded)
            checking = Checking(inputs.schemas)
            checked = Checked(checking.streams, self._check(checking), checking.ranks)
            tables = {name: table.loaded() for name, table in self._tables.items()}
            try:
                running = Running(checked, tables, self._limits, self._forecasts)
            except UnsupportedError as error:
                raise _not_in_engine(error) from None
            waiting = Waiting({name: inputs.lateness(name) for name in inputs.schemas})
            self._inputs, self._checking = inputs, checking
            self._work = _Work(running, waiting)
        self._meet(loaded.stream)
        return self._work

    @property
    def _forecasts(self) -> Forecasts:
        return Forecasts(self._model.learned, self._learning)

    # ── snapshots ──

    def snapshot(self) -> bytes:
        """All of the engine as bytes, for `restore`: statements, tables, and all that they wait for."""
        program = self.subscriptions.program
        state: dict[str, Any] = {
            "statements": program_text(program),
            "tables": {str(name): table.state() for name, table in self._tables.items()},
            "inputs": self._inputs.state(),
            "model": json.dumps(self._model.document()),
            "learning": None if self._learning is None else json.dumps(self._learning.as_json()),
            "work": None,
        }
        if self._work is not None:
            assert self._checking is not None
            ranks = {str(name): rank for name, rank in self._checking.ranks.items()}
            state["work"] = {
                "ranks": sorted(ranks, key=ranks.__getitem__),
                "waiting": self._work.waiting.state(),
                "running": self._work.running.state(),
            }
        return pack("engine", {"layout": LAYOUT, "statements": _fingerprint(program)}, state)

    @classmethod
    def restore(
        cls,
        subscriptions: Any,
        snapshot: bytes,
        *,
        time: Mapping[str, str] | None = None,
        tables: Mapping[str, object] | None = None,
        limits: Limits | None = None,
        model: object = None,
        learning: Learning | None = None,
    ) -> Engine:
        """An engine that goes on from a snapshot, with the statements of the snapshot where `subscriptions` is None.

        Statements that say the same, and read the same, go on (`carried`). Others begin with the next event (`fresh`);
        those that are not named any more are gone (`dropped`). Where tables are given, rows that are not in them are
        removed and rows that are new are added. Where a `model` is given, forecasts begin anew with it.
        """
        header, state = unpack(snapshot, "engine")
        if header.get("layout", LAYOUT) > LAYOUT:
            hint = "it was made by a newer version of Foretell"
            raise InputError("newer-snapshot", f"the snapshot has layout {header['layout']}, not {LAYOUT}", hint=hint)
        wanted = None if subscriptions is None else statements_of(subscriptions)
        same = wanted is not None and _fingerprint(wanted.program) == header.get("statements")
        if model is not None:
            state = {**state, "model": json.dumps(model_of(model).document())}
        settings = _learning(learning)
        if settings is not None:
            state = {**state, "learning": json.dumps(settings.as_json())}
        engine = cls._restored(wanted if same else None, state, _limits(limits), anew=model is not None)
        return _Restoring(
            engine, wanted or engine.subscriptions, _time_columns(time), _given_tables(tables)
        ).engine_now()

    @classmethod
    def _restored(cls, same: Subscriptions | None, state: Mapping[str, Any], limits: Limits, *, anew: bool) -> Engine:
        """The engine of which the snapshot was made."""
        engine = cls.__new__(cls)
        engine._limits = limits
        try:
            text = state["statements"]
            engine._statements = Statements(same or Subscriptions(parse_text(text), text))
            engine._inputs = Inputs.restore(engine._statements, state["inputs"])
            engine._model = Model.of(json.loads(state.get("model") or '{"subscriptions": {}}'))
            learning = state.get("learning")
            engine._learning = None if learning is None else Learning.of_json(json.loads(learning))
            engine.untrained = ()
            engine._tables = {name: Table.restore(name, one) for name, one in state["tables"].items()}
            engine._checking = engine._work = None
            if state["work"] is not None:
                engine._go_on(state["work"], replace(engine._forecasts, anew=anew))
        except (ForetellError, UnsupportedError) as error:
            raise _unusable(str(error)) from None
        except (LookupError, TypeError, ValueError, AttributeError, AssertionError):
            raise _unusable("its parts are not those that are expected") from None
        return engine

    def _go_on(self, state: Mapping[str, Any], forecasts: Forecasts) -> None:
        """Puts the statements to work where they were."""
        checking = Checking(self._inputs.schemas)
        checking.rank(state["ranks"])
        checked = Checked(checking.streams, self._check(checking), checking.ranks)
        tables = {name: table.loaded() for name, table in self._tables.items()}
        running = Running.restore(
            state["running"],
            checked,
            tables,
            lambda text: _rechecked(checking, text),
            self._limits,
            forecasts,
        )
        lateness = {name: self._inputs.lateness(name) for name in self._inputs.schemas}
        self._checking = checking
        self._work = _Work(running, Waiting.restore(lateness, state["waiting"]))


def _learning(given: object) -> Learning | None:
    if given is None or isinstance(given, Learning):
        return given
    raise wrong("learning", "ft.Learning(...)", given)


def _limits(limits: object) -> Limits:
    if limits is None:
        return Limits()
    if not isinstance(limits, Limits):
        raise wrong("limits", "a foretell.Limits", limits)
    return limits


@dataclass(frozen=True)
class _Restoring:
    """From an engine as it was to the statements, time columns and tables that are wanted now."""

    engine: Engine
    wanted: Subscriptions
    time: Mapping[str, str]
    given: Mapping[str, object]

    def engine_now(self) -> Engine:
        engine, now = self.engine, Statements(self.wanted)
        time, tables = self._times(), self._tables_now(now)
        retyped = [n for n, table in tables.items() if n in engine._tables and table.types != engine._tables[n].types]
        found = changes(engine._statements, now, retyped)
        if not found.carried and (found.fresh or found.dropped or found.streams):
            engine = Engine.__new__(Engine)
            engine._limits = self.engine._limits
            engine._model, engine._learning, engine.untrained = self.engine._model, self.engine._learning, ()
            engine._statements, engine._inputs, engine._tables = now, Inputs(now, time), tables
            engine._checking = engine._work = None
        else:
            engine._inputs.time = time
            self._replace(found, now, tables)
        engine.carried, engine.fresh, engine.dropped = found.carried, found.fresh, found.dropped
        return engine

    def _times(self) -> dict[str, str]:
        known = self.engine._inputs.time
        for name, column in self.time.items():
            if known.get(name, column) != column:
                message = f"the time of stream '{name}' is '{known[name]}' in the snapshot, not '{column}'"
                raise InputError("time-twice", message)
        return {**known, **self.time}

    def _tables_now(self, now: Statements) -> dict[str, Table]:
        """Those that are given, and the others as they were."""
        known = {name: table for name, table in self.engine._tables.items() if name not in self.given}
        given = _tables([name for name in now.templates if name not in known], self.given)
        return {name: given[name] if name in given else known[name] for name in now.templates}

    def _replace(self, found: Changes, now: Statements, tables: Mapping[str, Table]) -> None:
        engine, carried = self.engine, set(found.carried)
        for stream in found.streams:
            self._refuse_held(stream)
        for name in readers_first([n for n in engine._statements.made if n not in carried], engine._statements):
            engine._remove(name)
        for name in [n for n in engine._statements.said if n not in carried and (n in found.streams or n not in now)]:
            engine._remove(name)
        for stream in found.streams:
            engine._leave(stream)
        for name, table in engine._tables.items():
            if tables[name] is not table:
                engine._change_rows(table, tables[name])
        fresh = tuple(s for s in self.wanted.program.statements if s.name not in engine._statements)
        new = {name: table for name, table in tables.items() if name not in engine._tables}
        engine._add(Subscriptions(tree.Program(fresh), self.wanted.text, self.wanted.file), new)
        engine._be(now)

    def _refuse_held(self, stream: str) -> None:
        work = self.engine._work
        if work is not None and work.waiting.holds(stream):
            message = f"stream '{stream}' is declared otherwise now, and the snapshot holds back events of it"
            raise InputError("changed-stream", message, hint="end() before the snapshot lets them go")


@dataclass(frozen=True)
class _Work:
    """The statements at work, and the events that wait for them."""

    running: Running
    waiting: Waiting

    def add(self, statement: CheckedStatement, table: Table | None) -> None:
        self.running.add(statement, None if table is None else table.loaded())

    def remove(self, name: str) -> None:
        if name in self.running:
            self.running.remove(name)

    def go_on(self) -> tuple[Notification, ...]:
        """What has come to be known by the events that have come. Some wait and are not told yet, but time has gone on,
        for each statement by the streams that it reads (decision 0002, item 3)."""
        return tuple(rows(self.told()))

    def told(self) -> list[Told]:
        return self.running.tell(self.waiting.ready(), clocks=self.waiting.clocks())

    def tell(self, ready: Mapping[str, Loaded], until: int | float | None = None) -> tuple[Notification, ...]:
        return tuple(rows(self.running.tell(ready, until)))


def _time_columns(time: Mapping[str, str] | None) -> dict[str, str]:
    return columns_by_name({} if time is None else time, "time", "time={'logins': 'time'}")


def _given_tables(tables: Mapping[str, object] | None) -> dict[str, object]:
    return by_name({} if tables is None else tables, "tables", "tables={'limits': 'limits.csv'}")


def _tables(wanted: Iterable[str], given: Mapping[str, object]) -> dict[str, Table]:
    return {name: Table.of(name, loaded) for name, loaded in read_tables(wanted, given).items()}


def _not_in_engine(error: UnsupportedError) -> InputError:
    return InputError("not-in-engine", f"this engine does not run {error} yet")


def _unusable(why: str) -> InputError:
    hint = "another version of Foretell made it; an engine without it begins anew"
    return InputError("unusable-snapshot", f"this version cannot go on from the snapshot: {why}", hint=hint)


def _fingerprint(program: tree.Program) -> str:
    return hashlib.sha256(program_text(program).encode("utf-8", "surrogatepass")).hexdigest()


def _rechecked(checking: Checking, text: str) -> CheckedSubscription:
    (statement,) = parse_text(text).statements
    assert isinstance(statement, tree.Subscription)
    return checking.recheck(statement)
