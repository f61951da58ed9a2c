"""Statements that come and go: which there are, with the texts they come from, and who reads what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from foretell.errors import InputError, refuse, suggestion
from foretell.language import tree
from foretell.language.printer import statement_text
from foretell.language.subscriptions import Subscriptions
from foretell.language.tree import place_of


@dataclass(frozen=True)
class RegisteredStatement:
    """A statement, and the text that its places are in."""

    tree: tree.Statement
    text: str
    file: str = ""


class StatementRegistry:
    """Statements by name, in the order in which they came. `readers` has those that read each stream or statement,
    `templates` those that are FOR EACH row of a table. Nothing here takes longer the more statements there are."""

    def __init__(self, subscriptions: Subscriptions) -> None:
        self.said: dict[str, RegisteredStatement] = {}
        self.readers: dict[str, dict[str, None]] = {}
        self.templates: dict[str, dict[str, None]] = {}
        self.add(subscriptions)

    def __contains__(self, name: object) -> bool:
        return name in self.said

    def add(self, subscriptions: Subscriptions) -> None:
        for statement in subscriptions.program.statements:
            name = str(statement.name)
            self.said[name] = RegisteredStatement(statement, subscriptions.text, subscriptions.file)
            for readers, read in self._reads(statement):
                readers.setdefault(read, {})[name] = None

    def remove(self, name: str) -> None:
        statement = self.said.pop(name).tree
        for readers, read in self._reads(statement):
            del readers[read][name]
            if not readers[read]:
                del readers[read]

    def _reads(self, statement: tree.Statement) -> Iterator[tuple[dict[str, dict[str, None]], str]]:
        """Where it is noted what a statement reads, and the name of that."""
        if isinstance(statement, tree.Subscription | tree.Correlator):
            yield from ((self.readers, str(stream)) for stream in statement.streams)
        if isinstance(statement, tree.Subscription) and statement.table is not None:
            yield self.templates, str(statement.table)

    # ── what there is ──

    def declared(self, name: str) -> tree.Stream | None:
        found = self.said.get(name)
        return found.tree if found is not None and isinstance(found.tree, tree.Stream) else None

    def makes(self, name: str) -> bool:
        """Whether a name is that of a statement that makes a stream, not of one that declares it."""
        return name in self.said and not isinstance(self.said[name].tree, tree.Stream)

    def text_of(self, name: str) -> tuple[str, str]:
        """The text that a statement stands in, and its file."""
        return self.said[name].text, self.said[name].file

    @property
    def made(self) -> Iterator[str]:
        """The names of all but the streams."""
        return (name for name, said in self.said.items() if not isinstance(said.tree, tree.Stream))

    @property
    def sources(self) -> list[str]:
        """The streams that somebody reads and whose events come from outside."""
        return [name for name in self.readers if name not in self or self.declared(name) is not None]

    def parts(self) -> Iterator[Subscriptions]:
        """All statements, those of one text together."""
        for (text, file), some in groupby(self.said.values(), key=lambda said: (said.text, said.file)):
            yield Subscriptions(tree.Program(tuple(said.tree for said in some)), text, file)

    def subscriptions(self) -> Subscriptions:
        """All of them as one program, whose text is as they are printed unless they are of one text."""
        parts = list(self.parts())
        if len(parts) == 1:
            return parts[0]
        program = tree.Program(tuple(said.tree for said in self.said.values()))
        return Subscriptions(program, "\n\n".join(map(statement_text, program.statements)))

    # ── what may come and go ──

    def new(self, subscriptions: Subscriptions) -> Subscriptions:
        """The statements but for declarations that are here already; a name that is taken otherwise is refused."""
        new = []
        for statement in subscriptions.program.statements:
            known = self.said.get(statement.name)
            if known is None:
                new.append(statement)
            elif not isinstance(statement, tree.Stream) or known.tree != statement:
                hint = f"give it another name, or unsubscribe '{statement.name}' first"
                refuse("defined-twice", f"'{statement.name}' is there already", place_of(statement.name), hint)
        return Subscriptions(tree.Program(tuple(new)), subscriptions.text, subscriptions.file)

    def known(self, name: object) -> tree.Statement:
        """The statement of that name, which is no STREAM."""
        if not isinstance(name, str) or name not in self or self.declared(name) is not None:
            raise InputError(
                "unknown-subscription", f"there is no subscription '{name}'", hint=suggestion(str(name), self.made)
            )
        return self.said[name].tree

    def leaving(self, name: str) -> str:
        """The name of a statement that may go."""
        self.known(name)
        readers = list(self.readers.get(name, ()))
        if readers:
            hint = f"unsubscribe '{readers[0]}' first"
            raise InputError("still-read", f"'{name}' cannot go: '{readers[0]}' reads it", hint=hint)
        return name
