"""The registry of statements: by name, with the texts they come from, and which statement reads which stream."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from foretell.errors import InputError, refuse, suggestion
from foretell.language import tree
from foretell.language.printer import statement_text
from foretell.language.subscriptions import Subscriptions
from foretell.language.tree import place_of
from foretell.records import record


@record
class RegisteredStatement:
    """A statement, with the text that its places refer to."""

    tree: tree.Statement
    text: str
    file: str = ""


class StatementRegistry:
    """Statements by name, in the order in which they were added.

    `readers` has the statements that read each stream, `templates` those that are FOR EACH row of each table.
    Adding and removing take the same time however many statements there are.
    """

    def __init__(self, subscriptions: Subscriptions) -> None:
        self.by_name: dict[str, RegisteredStatement] = {}
        self.readers: dict[str, dict[str, None]] = {}
        self.templates: dict[str, dict[str, None]] = {}
        self.add(subscriptions)

    def __contains__(self, name: object) -> bool:
        return name in self.by_name

    def add(self, subscriptions: Subscriptions) -> None:
        for statement in subscriptions.program.statements:
            name = str(statement.name)
            self.by_name[name] = RegisteredStatement(statement, subscriptions.text, subscriptions.file)
            for readers, read in self._reads(statement):
                readers.setdefault(read, {})[name] = None

    def remove(self, name: str) -> None:
        statement = self.by_name.pop(name).tree
        for readers, read in self._reads(statement):
            del readers[read][name]
            if not readers[read]:
                del readers[read]

    def _reads(self, statement: tree.Statement) -> Iterator[tuple[dict[str, dict[str, None]], str]]:
        """The index and the name under which a statement is listed as a reader."""
        if isinstance(statement, tree.Subscription | tree.Correlator):
            yield from ((self.readers, str(stream)) for stream in statement.streams)
            if statement.table is not None:
                yield self.templates, str(statement.table)

    # ── lookups ──

    def declared(self, name: str) -> tree.Stream | None:
        entry = self.by_name.get(name)
        return entry.tree if entry is not None and isinstance(entry.tree, tree.Stream) else None

    def is_derived(self, name: str) -> bool:
        """Whether a name is that of a SUBSCRIBE or CORRELATE statement, whose results are a stream."""
        return name in self.by_name and not isinstance(self.by_name[name].tree, tree.Stream)

    def text_of(self, name: str) -> tuple[str, str]:
        """The text that contains a statement, and its file."""
        return self.by_name[name].text, self.by_name[name].file

    @property
    def derived(self) -> Iterator[str]:
        """The names of the SUBSCRIBE and CORRELATE statements: each is a stream derived from others."""
        return (name for name, entry in self.by_name.items() if not isinstance(entry.tree, tree.Stream))

    @property
    def sources(self) -> list[str]:
        """The streams that a statement reads and whose events come from outside."""
        return [name for name in self.readers if name not in self or self.declared(name) is not None]

    def by_text(self) -> Iterator[Subscriptions]:
        """All statements, grouped by the text they come from."""
        for (text, file), entries in groupby(self.by_name.values(), key=lambda entry: (entry.text, entry.file)):
            yield Subscriptions(tree.Program(tuple(entry.tree for entry in entries)), text, file)

    def subscriptions(self) -> Subscriptions:
        """All statements as one program. Statements of several texts are printed to make its text."""
        programs = list(self.by_text())
        if len(programs) == 1:
            return programs[0]
        program = tree.Program(tuple(entry.tree for entry in self.by_name.values()))
        return Subscriptions(program, "\n\n".join(map(statement_text, program.statements)))

    # ── changes ──

    def unregistered(self, subscriptions: Subscriptions) -> Subscriptions:
        """The statements without STREAM declarations that are registered already; refuses a name that is taken."""
        new = []
        for statement in subscriptions.program.statements:
            known = self.by_name.get(statement.name)
            if known is None:
                new.append(statement)
            elif not isinstance(statement, tree.Stream) or known.tree != statement:
                hint = f"give it another name, or unsubscribe '{statement.name}' first"
                refuse("defined-twice", f"'{statement.name}' is already defined", place_of(statement.name), hint)
        return Subscriptions(tree.Program(tuple(new)), subscriptions.text, subscriptions.file)

    def require(self, name: object) -> tree.Statement:
        """The SUBSCRIBE or CORRELATE statement of that name."""
        if not isinstance(name, str) or name not in self or self.declared(name) is not None:
            raise InputError(
                "unknown-subscription", f"there is no subscription '{name}'", hint=suggestion(str(name), self.derived)
            )
        return self.by_name[name].tree

    def require_unread(self, name: str) -> str:
        """The name, once it is certain that no other statement reads this one."""
        self.require(name)
        readers = list(self.readers.get(name, ()))
        if readers:
            hint = f"unsubscribe '{readers[0]}' first"
            raise InputError("still-read", f"'{name}' cannot be removed: '{readers[0]}' reads it", hint=hint)
        return name
