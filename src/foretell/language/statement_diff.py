"""What has changed from some statements to others: which go on, which begin anew, which go."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from foretell.language import tree
from foretell.language.statement_registry import StatementRegistry


@dataclass(frozen=True)
class StatementDiff:
    """Names of statements; `streams` are those that are declared otherwise than before, or not any more."""

    carried: tuple[str, ...]
    fresh: tuple[str, ...]
    dropped: tuple[str, ...]
    streams: tuple[str, ...]


def changes(old: StatementRegistry, new: StatementRegistry, retyped: Collection[str] = ()) -> StatementDiff:
    """A statement goes on where it says the same and so does all that it reads. `retyped` are tables whose columns
    are others than before."""
    names = dict.fromkeys([*old.said, *old.readers, *new.said, *new.readers])
    streams = [n for n in names if not _reads_alike(old.declared(n), new.declared(n))]
    made = list(new.made)
    changed = [n for n in made if n not in old or old.said[n].tree != new.said[n].tree]
    dropped = [n for n in old.made if n not in new or new.declared(n) is not None]
    changed += [n for table in retyped for n in new.templates.get(table, ())]
    gone = _with_readers([*changed, *dropped, *streams], old)
    fresh = tuple(n for n in made if n in gone)
    return StatementDiff(tuple(n for n in made if n not in gone), fresh, tuple(dropped), tuple(streams))


def _reads_alike(one: tree.Stream | None, other: tree.Stream | None) -> bool:
    """Whether events are the same; how late they may come is another matter."""
    if one is None or other is None:
        return one is other
    return replace(one, lateness=None) == replace(other, lateness=None)


def _with_readers(names: Collection[str], statements: StatementRegistry) -> set[str]:
    """Some names, and whatever reads them, directly or through others."""
    found, todo = set(names), list(names)
    while todo:
        for reader in statements.readers.get(todo.pop(), ()):
            if reader not in found:
                found.add(reader)
                todo.append(reader)
    return found


def readers_first(names: Collection[str], statements: StatementRegistry) -> list[str]:
    """Names in an order in which each comes after whatever reads it."""
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
