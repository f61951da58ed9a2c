"""The formatter: a program in the usual layout, with its comments.

Every clause begins a line, keywords are in capitals, and what belongs to a clause begins in the eighth column. Line
ends within a clause stay where they are, indented by the brackets that are open. Lines that are too long break at
commas, at AND and OR, and behind operators.
"""

from __future__ import annotations

from foretell.errors import refuse
from foretell.language import tree
from foretell.language.layout.lines import statement_lines
from foretell.language.layout.source_tokens import source_text
from foretell.language.parser import parse, token_parser, without_comments
from foretell.language.syntax_hints.rejection import read_tokens


def format_text(text: str, file: str = "") -> str:
    """The text in the usual layout; it parses to the same tree and has the same comments.

    >>> print(format_text("subscribe rise from ticks match a,b  -- upwards\\ndefine b as price>a.price"), end="")
    SUBSCRIBE rise FROM ticks
    MATCH  a , b  -- upwards
    DEFINE b AS price > a.price;
    """
    program = parse(text, file)
    formatted = _formatted(text.removeprefix("\ufeff"))
    for _ in range(4):  # a line that was broken may have made others longer
        again = _formatted(formatted)
        if again == formatted:
            break
        formatted = again
    _require_same(program, parse(formatted, file))
    return formatted


def _require_same(program: tree.Program, formatted: tree.Program) -> None:
    if program != formatted:
        refuse("not-formatted", "the formatter would change what this text means", program.place, "report this text")


def _formatted(text: str) -> str:
    source = source_text(text, read_tokens(token_parser(), without_comments(text)))
    written: list[str] = []
    before: list[str] = []
    for number, statement in enumerate(source.statements):
        first = statement.tokens[0]
        block = [*first.comments, *statement_lines(statement.tokens)]
        if number and (first.lines_before > 1 or len(block) > 1 or len(before) > 1):
            written.append("")
        written += block
        before = block
    if source.comments:
        written += [""] if written and source.gap > 1 else []
        written += source.comments
    return "".join(f"{line}\n" for line in written)
