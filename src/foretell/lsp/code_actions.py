"""Code actions: what a hint proposes to write instead, and comments that allow a finding."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lsprotocol import types

from foretell.check.codes import CODES
from foretell.language.printer import name_text
from foretell.lsp.documents import Document
from foretell.lsp.words import Word, WordKind, words_of

_MEANT = re.compile(r"^did you mean ('?)(?P<word>.+?)\1\?")
_ALLOWANCE = re.compile(r"--\s*check\s*:\s*allow\b[^-]*", re.IGNORECASE)
#: The errors whose names are those of steps, attributes and the like, which may need double quotes.
_KEYWORD_ERRORS = frozenset(("unexpected", "unexpected-end", "unknown-type", "unknown-function"))


def code_actions(document: Document, diagnostics: Sequence[types.Diagnostic]) -> list[types.CodeAction]:
    """The repairs of diagnostics that the editor shows at a place."""
    return [action for diagnostic in diagnostics for action in _of(document, diagnostic)]


def _of(document: Document, diagnostic: types.Diagnostic) -> Iterator[types.CodeAction]:
    start = document.positions.offset(diagnostic.range.start)
    end = document.positions.offset(diagnostic.range.end)
    hint = _hint(diagnostic)
    if found := _MEANT.match(hint):
        word = _word_in(document.text[start:end], start)
        if word is not None:
            written = _written(found["word"], diagnostic, document, word)
            edit = types.TextEdit(document.positions.range(word.start, word.end), written)
            yield _action(document, f"Change to {written}", diagnostic, [edit], preferred=True)
    code = str(diagnostic.code)
    if diagnostic.severity is not types.DiagnosticSeverity.Error and code in CODES and CODES[code].can_be_allowed:
        allowance = _allowance(document, start, end, code)
        if allowance is not None:
            yield _action(document, f"Allow {code} here", diagnostic, [allowance], preferred=False)


def _hint(diagnostic: types.Diagnostic) -> str:
    """The hint of a diagnostic: the line of its message that says so, as editors give messages back unchanged."""
    lines = str(diagnostic.message).split("\n")
    return next((line.removeprefix("hint: ") for line in lines if line.startswith("hint: ")), "")


def _word_in(text: str, start: int) -> Word | None:
    """The one word of a range, without the `!` before it; None where there are several."""
    words = [word for word in words_of(text) if word.text != "!"]
    if len(words) != 1 or words[0].kind in (WordKind.COMMENT, WordKind.SIGN):
        return None
    return Word(words[0].kind, words[0].text, start + words[0].start)


def _written(proposed: str, diagnostic: types.Diagnostic, document: Document, word: Word) -> str:
    """The proposed word as it is written there: names in double quotes where they need them."""
    if word.kind is WordKind.PARAMETER:
        return f":{proposed.removeprefix(':')}"
    if diagnostic.code in _KEYWORD_ERRORS or diagnostic.code in CODES or proposed.startswith(("$", ":")):
        return proposed
    return name_text(proposed)


def _action(
    document: Document, title: str, diagnostic: types.Diagnostic, edits: Sequence[types.TextEdit], *, preferred: bool
) -> types.CodeAction:
    return types.CodeAction(
        title=title,
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[diagnostic],
        is_preferred=preferred,
        edit=types.WorkspaceEdit(changes={document.uri: edits}),
    )


def _allowance(document: Document, start: int, end: int, code: str) -> types.TextEdit | None:
    """The edit that allows a finding: behind the line where it ends, or on a line before its statement where that line
    ends within quotes."""
    line_end = document.text.find("\n", end)
    line_end = len(document.text) if line_end < 0 else line_end
    line_end -= document.text[line_end - 1 : line_end] == "\r"
    word = next((word for word in document.words if word.start < line_end <= word.end), None)
    if word is not None and word.kind is WordKind.COMMENT:
        return _added_to(document, word, code)
    if word is None or word.end == line_end:
        return _insertion(document, line_end, f"  -- check: allow {code}")
    statement = document.statement_at(start)
    if statement is None:
        return None
    return _insertion(document, statement.start, f"-- check: allow {code}\n")


def _added_to(document: Document, comment: Word, code: str) -> types.TextEdit:
    """A code more in a comment that allows some; another comment goes on behind the allowance."""
    found = _ALLOWANCE.match(comment.text)
    if found is None:
        return _insertion(document, comment.start, f"-- check: allow {code} ")
    listed = found[0].rstrip()
    separator = " " if listed.lower().endswith("allow") else ", "
    return _insertion(document, comment.start + len(listed), f"{separator}{code}")


def _insertion(document: Document, offset: int, text: str) -> types.TextEdit:
    return types.TextEdit(document.positions.range(offset, offset), text)
