"""The difference between two sets of statements: which continue, which start anew, which are dropped."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from foretell.language import tree
from foretell.language.statement_registry import StatementRegistry
from foretell.records import record


@record
class StatementDiff:
    """Names of statements that continue, start anew or are dropped.

    `streams` are those whose STREAM declaration changed or disappeared.
    """

    carried: tuple[str, ...]
    fresh: tuple[str, ...]
    dropped: tuple[str, ...]
    streams: tuple[str, ...]


def statement_diff(old: StatementRegistry, new: StatementRegistry, retyped: Collection[str] = ()) -> StatementDiff:
    """A statement continues where its text and all that it reads are the same.

    `retyped` are tables whose columns have other types than before.
    """
    names = dict.fromkeys([*old.by_name, *old.readers, *new.by_name, *new.readers])
    streams = [n for n in names if not _reads_alike(old.declared(n), new.declared(n))]
    derived = list(new.derived)
    changed = [n for n in derived if n not in old or old.by_name[n].tree != new.by_name[n].tree]
    dropped = [n for n in old.derived if n not in new or new.declared(n) is not None]
    changed += [n for table in retyped for n in new.templates.get(table, ())]
    restarted = _with_readers([*changed, *dropped, *streams], old)
    fresh = tuple(n for n in derived if n in restarted)
    return StatementDiff(tuple(n for n in derived if n not in restarted), fresh, tuple(dropped), tuple(streams))


def _reads_alike(old: tree.Stream | None, new: tree.Stream | None) -> bool:
    """Whether two declarations describe the same events. How late they may come does not matter."""
    if old is None or new is None:
        return old is new
    return replace(old, lateness=None) == replace(new, lateness=None)


def _with_readers(names: Collection[str], statements: StatementRegistry) -> set[str]:
    """The names with all statements that read them, directly or through others."""
    reached, todo = set(names), list(names)
    while todo:
        for reader in statements.readers.get(todo.pop(), ()):
            if reader not in reached:
                reached.add(reader)
                todo.append(reader)
    return reached


def readers_first(names: Collection[str], statements: StatementRegistry) -> list[str]:
    """The names in an order in which each comes after the statements that read it."""
    ordered: dict[str, None] = {}
    for first in names:
        path = {first: iter(statements.readers.get(first, ()))}
        while path:
            name, readers = next(reversed(path.items()))
            reader = next(readers, None)
            if reader is None:
                path.popitem()
                ordered[name] = None
            elif reader not in ordered:
                path[reader] = iter(statements.readers.get(reader, ()))
    return list(ordered)
