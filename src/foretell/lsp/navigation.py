"""Navigation: the definition of a name, all its mentions, and another name for all of them."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from foretell.errors import ForetellError, refuse
from foretell.language.syntax_hints.vocabulary import UNLIKELY_NAMES
from foretell.lsp.analysis import analyse
from foretell.lsp.documents import Document
from foretell.lsp.mentions import Mention, MentionRole

#: Names that belong to one statement; the others to the whole text.
_OF_STATEMENT = (MentionRole.STEP, MentionRole.VARIABLE, MentionRole.COLUMN)
#: What can be renamed: the other names are those of data.
_RENAMED = (MentionRole.STEP, MentionRole.VARIABLE, MentionRole.STREAM)


def definition(document: Document, offset: int) -> list[types.Location]:
    """Where a name is defined: a step in DEFINE, or in the pattern if it has no condition; a stream, an attribute."""
    mention = document.mention_at(offset)
    if mention is None:
        return []
    same = list(_same_name(document, mention))
    if mention.role is MentionRole.ATTRIBUTE:
        same = _attribute_definitions(document, mention)
    found = [other for other in same if other.defines]
    if not found and mention.role in (MentionRole.STEP, MentionRole.VARIABLE):
        found = same[:1]
    return [types.Location(document.uri, _range(document, other)) for other in found]


def references(document: Document, offset: int, *, with_definition: bool) -> list[types.Location]:
    mention = document.mention_at(offset)
    if mention is None:
        return []
    same = _same_name(document, mention)
    return [types.Location(document.uri, _range(document, m)) for m in same if with_definition or not m.defines]


def highlights(document: Document, offset: int) -> list[types.DocumentHighlight]:
    mention = document.mention_at(offset)
    if mention is None:
        return []
    return [types.DocumentHighlight(_range(document, other)) for other in _same_name(document, mention)]


def renamed_range(document: Document, offset: int) -> types.Range | None:
    """The range of the name that would be renamed; None where there is none."""
    mention = document.mention_at(offset)
    return None if mention is None or mention.role not in _RENAMED else _range(document, mention)


def rename(document: Document, offset: int, new_name: str) -> types.WorkspaceEdit:
    """The edits that give a step, a variable, a stream or a statement another name. A ForetellError says why not."""
    mention = document.mention_at(offset)
    if mention is None:
        errors = document.analysis.errors
        hint = "correct the errors of the statement first" if errors else ""
        raise ForetellError("no-name", "there is no name of a step, a variable or a stream here", hint=hint)
    if mention.role not in _RENAMED:
        hint = "it is a name of the data; change it there"
        if mention.role is MentionRole.COLUMN:
            hint = "other statements and programs may read it; change it by hand"
        raise ForetellError("not-renamed", f"cannot rename the {mention.role.value} '{mention.name}'", hint=hint)
    same = list(_same_name(document, mention))
    written = _new_text(document, mention, same, new_name)
    edits = [types.TextEdit(_range(document, other), written) for other in same]
    return types.WorkspaceEdit(changes={document.uri: edits})


def _new_text(document: Document, mention: Mention, same: list[Mention], new_name: str) -> str:
    """The new name as it is written, in double quotes where it needs them."""
    name = new_name.strip()
    if mention.role is MentionRole.VARIABLE:
        name = name.removeprefix("$")
        if not name.isidentifier():
            refuse("not-a-name", f"'{new_name}' cannot name a variable", mention.place, "use letters, digits and _")
        return f"${name}"
    if len(name) > 1 and name[0] == name[-1] == '"':
        name = name[1:-1].replace('""', '"')
    if not name or not name.isprintable():
        refuse("not-a-name", f"'{new_name}' is no name", mention.place, "use letters, digits and _")
    if name != mention.name and name in {other.name for other in _siblings(document, mention)}:
        message = f"there is another {mention.role.value} '{name}' already"
        refuse("taken", message, mention.place, "choose another name")
    # Many keywords may be names where nothing else fits.
    plain = [name] if name.isidentifier() and name.upper() not in UNLIKELY_NAMES else []
    quoted = '"' + name.replace('"', '""') + '"'
    for written in (*plain, quoted):
        error = _new_error(document, same, name, written)
        if not error:
            return written
    refuse("not-renamed", f"with the name {written}: {error}", mention.place, "choose another name")


def _siblings(document: Document, mention: Mention) -> Iterator[Mention]:
    for other in document.mentions:
        if other.role is mention.role and (mention.role not in _OF_STATEMENT or other.statement == mention.statement):
            yield other


def _new_error(document: Document, same: list[Mention], name: str, written: str) -> str:
    """The error that a text has with a new name and does not have now; empty where there is none."""
    parts: list[str] = []
    end = 0
    for other in same:
        start, after = document.positions.span(other.place)
        parts += [document.text[end:start], written]
        end = after
    renamed = analyse("".join([*parts, document.text[end:]]))
    if len(renamed.errors) > len(document.analysis.errors):
        return renamed.errors[0].message
    mentioned = [mention for mention in renamed.mentions if mention.role is same[0].role and mention.name == name]
    return "" if len(mentioned) >= len(same) else "it would be read as something else"


def _same_name(document: Document, mention: Mention) -> Iterator[Mention]:
    """The mentions of the same thing, in the order of the text."""
    return (other for other in _siblings(document, mention) if other.name == mention.name)


def _attribute_definitions(document: Document, mention: Mention) -> list[Mention]:
    """Where the streams that a statement reads declare an attribute, or RETURN names it."""
    statement = document.tree_of(mention.statement)
    read = {str(name) for name in getattr(statement, "streams", ())} | {mention.statement}
    return [
        other
        for other in document.mentions
        if other.name == mention.name
        and other.defines
        and (
            (other.role is MentionRole.ATTRIBUTE and other.statement in read)
            or (other.role is MentionRole.COLUMN and other.statement in read - {mention.statement})
        )
    ]


def _range(document: Document, mention: Mention) -> types.Range:
    return document.positions.range(*document.positions.span(mention.place))
