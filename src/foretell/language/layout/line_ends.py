"""The line ends of a text: a line feed, or a carriage return and a line feed."""

from __future__ import annotations

from foretell.language.rules.tokens import QUOTED_OR_COMMENT


def with_line_ends_of(text: str, formatted: str) -> str:
    """A formatted text with the line ends that most lines of the text have; those within quotes stay what they are."""
    if 2 * text.count("\r\n") <= text.count("\n"):
        return formatted
    parts: list[str] = []
    end = 0
    for quoted in QUOTED_OR_COMMENT.finditer(formatted):
        parts += [formatted[end : quoted.start()].replace("\n", "\r\n"), quoted[0]]
        end = quoted.end()
    return "".join([*parts, formatted[end:].replace("\n", "\r\n")])
