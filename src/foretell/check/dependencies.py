"""The graph of what each statement depends on: streams, their attributes, tables and other statements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from foretell.language import tree
from foretell.language.checked import CheckedProgram, CheckedStatement
from foretell.records import record

#: The streams whose attributes a diagram shows one by one.
_SHOWN = 12


@record
class StreamNode:
    """A stream: of events, or of the results of a statement. `computed` has the LET attributes, with the attributes
    that each is computed from; `unread` are declared attributes that no statement reads."""

    name: str
    kind: str
    attributes: tuple[str, ...]
    unread: tuple[str, ...] = ()
    computed: Mapping[str, tuple[str, ...]] | None = None


@record
class Reading:
    """A statement reads a stream: with these attributes."""

    statement: str
    stream: str
    attributes: tuple[str, ...]


@record
class TableUse:
    """A statement is FOR EACH row of a table, of which it uses these columns."""

    statement: str
    table: str
    columns: tuple[str, ...]


@record
class Dependencies:
    """Which statement depends on which streams and attributes."""

    streams: tuple[StreamNode, ...] = ()
    readings: tuple[Reading, ...] = ()
    tables: tuple[TableUse, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The graph as plain values, for JSON."""
        streams = [
            {
                "name": node.name,
                "kind": node.kind,
                "attributes": list(node.attributes),
                "unread": list(node.unread),
                "computed": {name: list(sources) for name, sources in (node.computed or {}).items()},
            }
            for node in self.streams
        ]
        readings = [
            {"statement": r.statement, "stream": r.stream, "attributes": list(r.attributes)} for r in self.readings
        ]
        tables = [{"statement": t.statement, "table": t.table, "columns": list(t.columns)} for t in self.tables]
        return {"streams": streams, "readings": readings, "tables": tables}

    def as_text(self) -> str:
        """A line for each stream that a statement reads, then what nothing reads."""
        lines: list[str] = []
        names = dict.fromkeys([*(r.statement for r in self.readings)])
        by_statement: dict[str, list[str]] = {name: [] for name in names}
        for reading in self.readings:
            by_statement[reading.statement].append(f"{reading.stream}{_bracketed(reading.attributes)}")
        for use in self.tables:
            by_statement[use.statement].append(f"table {use.table}{_bracketed(use.columns)}")
        for name, read in by_statement.items():
            lines.append(f"{name} reads {', '.join(read)}")
        for node in self.streams:
            for name, sources in (node.computed or {}).items():
                lines.append(f"{node.name}.{name} is computed from {', '.join(sources) or 'nothing'}")
            if node.unread:
                lines.append(f"nothing reads {', '.join(f'{node.name}.{name}' for name in node.unread)}")
        return "\n".join(lines)

    def as_mermaid(self) -> str:
        """A flowchart: streams as rounded nodes, statements as boxes, tables as cylinders."""
        numbers: dict[str, str] = {}
        lines = ["flowchart LR"]
        statements = {reading.statement for reading in self.readings}
        for node in self.streams:
            numbers[node.name] = f"n{len(numbers)}"
            shape = ("[", "]") if node.name in statements else ("([", "])")
            lines.append(f"    {numbers[node.name]}{shape[0]}{_label(node.name)}{shape[1]}")
        for use in self.tables:
            if f"table {use.table}" not in numbers:
                numbers[f"table {use.table}"] = f"n{len(numbers)}"
                lines.append(f"    {numbers[f'table {use.table}']}[({_label(use.table)})]")
        lines += (_arrow(numbers[r.stream], numbers[r.statement], r.attributes) for r in self.readings)
        lines += (_arrow(numbers[f"table {t.table}"], numbers[t.statement], t.columns) for t in self.tables)
        return "\n".join(lines)


def dependencies_of(program: tree.Program, checked: CheckedProgram) -> Dependencies:
    """The dependencies of a program, in the order of its text."""
    by_name = {statement.name: statement for statement in checked.statements}
    ordered = [by_name[str(s.name)] for s in program.statements if not isinstance(s, tree.Stream)]
    readings = tuple(reading for statement in ordered for reading in _readings(statement, checked))
    read: dict[str, set[str]] = {}
    for reading in readings:
        read.setdefault(reading.stream, set()).update(reading.attributes)
    streams = tuple(_stream_nodes(program, checked, read))
    return Dependencies(streams, readings, tuple(_table_uses(ordered)))


def _readings(statement: CheckedStatement, checked: CheckedProgram) -> Iterator[Reading]:
    named = _attributes(statement.tree)
    for stream in map(str, statement.tree.streams):
        schema = checked.streams.get(stream)
        known = named if schema is None or schema.open else [n for n in named if n in schema.attributes]
        yield Reading(statement.name, stream, tuple(known))


def _attributes(statement: tree.Subscription | tree.Correlator) -> list[str]:
    """The attributes that a statement names, in the order of the text."""
    names = dict.fromkeys(map(str, statement.per))
    for node in statement.walk():
        match node:
            case tree.Attribute(name=name) | tree.Aggregate(attribute=str(name)):
                names[str(name)] = None
    return list(names)


def _stream_nodes(program: tree.Program, checked: CheckedProgram, read: Mapping[str, set[str]]) -> Iterator[StreamNode]:
    declared = {str(s.name): s for s in program.statements if isinstance(s, tree.Stream)}
    derived = {statement.name for statement in checked.statements}
    names = dict.fromkeys([*declared, *(n for n in checked.streams if n not in derived), *checked.streams])
    for name in names:
        schema = checked.streams[name]
        if name in derived:
            yield StreamNode(name, "derived", tuple(map(str, schema.attributes)))
        elif name not in declared:
            yield StreamNode(name, "undeclared", tuple(sorted(read.get(name, ()))))
        else:
            yield _declared_node(declared[name], read.get(name, set()))


def _declared_node(stream: tree.Stream, read: set[str]) -> StreamNode:
    computed = {str(d.name): tuple(_named_attributes([d.expression])) for d in stream.derived}
    needed = {str(n) for n in (stream.time, stream.id, stream.order) if n is not None} | read
    for sources in computed.values():
        needed.update(sources)
    for loss in stream.losses:
        needed.update(_named_attributes([] if loss.condition is None else [loss.condition]))
    attributes = (*(str(d.name) for d in stream.attributes), *computed)
    unread = tuple(name for name in attributes if name not in needed)
    return StreamNode(str(stream.name), "declared", attributes, unread, computed)


def _named_attributes(expressions: Iterable[tree.Expression]) -> list[str]:
    nodes = (node for expression in expressions for node in expression.walk())
    return list(dict.fromkeys(str(node.name) for node in nodes if isinstance(node, tree.Attribute)))


def _table_uses(statements: Iterable[CheckedStatement]) -> Iterator[TableUse]:
    for statement in statements:
        own = statement.tree
        if isinstance(own, tree.Subscription) and own.table is not None:
            named = (str(node.name) for node in own.walk() if isinstance(node, tree.Parameter))
            yield TableUse(statement.name, str(own.table), tuple(dict.fromkeys(named)))


def _bracketed(names: tuple[str, ...]) -> str:
    return f" ({', '.join(names)})" if names else ""


def _arrow(source: str, target: str, labels: tuple[str, ...]) -> str:
    shown = ", ".join([*labels[:_SHOWN], *(["…"] if len(labels) > _SHOWN else [])])
    return f"    {source} -->{f'|{_label(shown)}|' if shown else ''} {target}"


def _label(text: str) -> str:
    """A text in quotes; Mermaid knows characters by their numbers."""
    return '"' + re.sub(r"[^\w ,.…-]", lambda found: f"#{ord(found[0])};", text) + '"'
