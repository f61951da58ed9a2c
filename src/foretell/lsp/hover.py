"""Hover: the meaning of a word or sign, the type of an attribute, and the definitions of names."""

from __future__ import annotations

from lsprotocol import types

from foretell.language import tree
from foretell.language.checked import CheckedSubscription
from foretell.language.printer import expression_text, name_text, statement_text
from foretell.lsp.documents import Document
from foretell.lsp.known_names import KnownNames
from foretell.lsp.language_help import FUNCTIONS, PATTERN_SIGNS, WORDS, Help
from foretell.lsp.mentions import Mention, MentionRole
from foretell.lsp.outlines import surroundings
from foretell.lsp.words import StatementWords, Word, WordKind

#: Longer conditions and statements are cut off.
_MOST_SHOWN = 2_000


def hover(document: Document, offset: int) -> types.Hover | None:
    """The text about the word at a position."""
    word = document.word_at(offset)
    if word is None or word.kind in (WordKind.COMMENT, WordKind.STRING, WordKind.NUMBER):
        return None
    mention = document.mention_at(word.start)
    shown = _of_mention(document, mention) if mention is not None else _of_word(document, word)
    if shown is None:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, shown)
    return types.Hover(content, document.positions.range(word.start, word.end))


def _of_word(document: Document, word: Word) -> str | None:
    statement = document.statement_at(word.start)
    if word.kind is WordKind.SIGN:
        return _of_sign(document, word, statement)
    lower = word.text.lower()
    before = _before(document, word)
    if word.kind is not WordKind.NAME or before == ".":
        return None
    if lower in FUNCTIONS and document.text[word.end :].lstrip().startswith("("):
        written, meaning = FUNCTIONS[lower]
        return f"{_code(written)}\n{meaning}"
    known = WORDS.get(word.upper)
    return None if known is None or not _is_keyword(document, word) else _help_text(known)


def _is_keyword(document: Document, word: Word) -> bool:
    """Whether a word that is no name of the program is a keyword here: `t`, say, only before a bracket."""
    calls = document.text[word.end :].lstrip().startswith("(")
    return calls if word.upper in ("T", "COUNT", "SUM", "AVG", "MIN", "MAX") else True


def _before(document: Document, word: Word) -> str:
    text = document.text[: word.start].rstrip()
    return text[-1:]


def _of_sign(document: Document, word: Word, statement: StatementWords | None) -> str | None:
    """The meaning of a sign in a pattern; elsewhere signs mean what they mean everywhere."""
    if statement is None:
        return None
    around = surroundings(statement, word.start)
    follows = document.text[word.end :].lstrip()[:1]
    ends = word.end == statement.end and statement.is_ended
    if word.text not in PATTERN_SIGNS or around.clause != "MATCH" or ends:
        return None
    if not around.in_pattern:
        return None
    sign = ";{" if word.text == ";" and follows == "{" else word.text
    if word.text == "{" and around.word() == ";":
        sign = ";{"
    return _help_text(PATTERN_SIGNS[sign])


def _help_text(help_: Help) -> str:
    return f"{help_.text}\n{_code(help_.example)}"


def _code(text: str) -> str:
    shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
    fence = "`" * max(3, *(len(run) + 1 for run in shown.split(" ") if set(run) == {"`"}), 3)
    return f"{fence}foretell\n{shown}\n{fence}"


def _of_mention(document: Document, mention: Mention) -> str | None:
    statement = document.tree_of(mention.statement)
    match mention.role:
        case MentionRole.STEP:
            return _of_step(document, mention, statement)
        case MentionRole.ATTRIBUTE:
            return _of_attribute(document, mention)
        case MentionRole.STREAM:
            named = document.tree_of(mention.name)
            return "An input stream without a STREAM statement." if named is None else _code(statement_text(named))
        case MentionRole.VARIABLE:
            return _of_variable(document, mention)
        case MentionRole.PARAMETER:
            return "A column of the FOR EACH table: the statement has the value of each row."
        case MentionRole.TABLE:
            return "A table of rows: the statement runs once for each of them. `--table NAME=PATH` names its file."
        case MentionRole.TOKEN:
            return "A token, which the correlator emits when the part behind it succeeds."
        case MentionRole.COLUMN:
            return _of_column(document, mention, statement)


def _of_step(document: Document, mention: Mention, statement: tree.Statement | None) -> str | None:
    if not isinstance(statement, tree.Subscription | tree.Correlator):
        return None
    for definition in statement.definitions:
        if mention.name in definition.steps:
            names = ", ".join(map(name_text, definition.steps))
            return f"A step:\n{_code(f'DEFINE {names} AS {expression_text(definition.condition)}')}"
    return "A step without a definition: any event of the streams."


def _of_attribute(document: Document, mention: Mention) -> str | None:
    statement = next((s for s in document.statements if s.name and s.name.name == mention.statement), None)
    if statement is None:
        return None
    known = KnownNames(document, statement)
    kind = known.attributes(mention.step).get(mention.name, "")
    source = mention.statement if known.outline.keyword == "STREAM" else ", ".join(known.outline.streams)
    written = f"{name_text(mention.name)} {kind}".rstrip()
    of_step = f" of the event of step `{mention.step}`" if mention.step and mention.step != "prev" else ""
    untyped = "" if kind else ", whose type the data have"
    return f"{_code(written)}\nAn attribute{of_step} of {source}{untyped}."


def _of_variable(document: Document, mention: Mention) -> str:
    checked = document.analysis.checked.get(mention.statement)
    kind = checked.variables.get(mention.name) if isinstance(checked, CheckedSubscription) else None
    written = f"${mention.name} {kind.value}" if kind is not None else f"${mention.name}"
    return f"{_code(written)}\nA variable: the same value in all events of a match whose steps name it."


def _of_column(document: Document, mention: Mention, statement: tree.Statement | None) -> str | None:
    checked = document.analysis.checked.get(mention.statement)
    kind = checked.returns.get(mention.name) if isinstance(checked, CheckedSubscription) else None
    if not isinstance(statement, tree.Subscription):
        return None
    value = next((expression_text(r.expression) for r in statement.returns if r.name == mention.name), "")
    written = f"{name_text(mention.name)} {kind.value}" if kind is not None else name_text(mention.name)
    return f"{_code(written)}\nA column of the result: `{value}`."
