"""The parser: text to tree.

The grammar is in grammar.lark (LALR, read by Lark); `rules` makes tree nodes of its rules, and settles what the grammar
leaves open: words with a meaning of their own (`prev`, `t(x)`, `duration`, aggregates), the place of a negation, and
numbers that must be whole.
"""

from __future__ import annotations

import marshal
import sys
from functools import cache
from importlib.resources import files
from typing import Any, cast

import lark
from lark import Lark
from lark.exceptions import UnexpectedInput
from lark.grammar import Rule
from lark.lexer import TerminalDef

from foretell.errors import NOWHERE, ForetellError, refuse
from foretell.garbage import collection_paused
from foretell.language import tree
from foretell.language.rules.correlations import CorrelationRules
from foretell.language.rules.expressions import ExpressionRules
from foretell.language.rules.patterns import PatternRules
from foretell.language.rules.statements import DuplicateClauseError, StatementRules
from foretell.language.rules.tokens import QUOTED_OR_COMMENT
from foretell.storage.disk_cache import digest, load_cached, store_cached

#: How deep a text may be nested: every part of Foretell walks the tree, and Python's stack is not endless.
DEEPEST = 150

_DEEP_CONDITION = "use IN (...) for a long list of values, or bracket a long chain: (a OR b) OR (c OR d)"
_DEEP_CORRELATION = "move inner parts to a correlator of their own, whose tokens this one reads"


def parse(text: str, file: str = "") -> tree.Program:
    """The tree of a program.

    >>> parse("SUBSCRIBE s FROM logins MATCH a , b").statements[0].name
    's'
    """
    code = without_comments(text.removeprefix("\ufeff"))
    try:
        with collection_paused():
            program = cast(tree.Program, _parser().parse(code))
            _check_depth(program)
        return program
    except UnexpectedInput as error:
        from foretell.language.syntax_hints.messages import syntax_error

        raise syntax_error(error, code, _parser()).within(text, file) from None
    except DuplicateClauseError as error:
        raise error.located_in(code).within(text, file) from None
    except ForetellError as error:
        raise error.within(text, file) from None


def without_comments(text: str) -> str:
    """The text with blanks for its comments, so that places stay what they are.

    The grammar knows comments too, but where it looks ahead over them to tell the two meanings of `;` apart, a long
    row of dashes would take it for ever.
    """
    return QUOTED_OR_COMMENT.sub(lambda found: found[1] or " " * len(found[0]), text)


def _check_depth(program: tree.Program) -> None:
    waiting: list[tuple[tree.Node, int]] = [(program, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > DEEPEST and node.place != NOWHERE:
            hint = _DEEP_CORRELATION if isinstance(node, tree.Correlation) else _DEEP_CONDITION
            refuse("too-deep", f"this is nested more than {DEEPEST} levels deep", node.place, hint)
        waiting += ((child, depth + 1) for child in node.children())


@cache
def _parser() -> Lark:
    return _loaded(_TreeBuilder())


@cache
def token_parser() -> Lark:
    """The grammar without its rules' trees: it reads the tokens of texts, also of those that a rule refuses."""
    return _loaded(None)


def _loaded(rules: _TreeBuilder | None) -> Lark:
    """The grammar's tables, which take a while to make, are kept as they are in Lark's standalone parsers."""
    grammar = files("foretell.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    stamp = digest([lark.__version__, sys.version, grammar])
    tables = load_cached("grammar", stamp)
    if tables is not None:
        lark_class: Any = Lark  # whose types do not know this
        return cast(Lark, lark_class._load_from_dict(**marshal.loads(tables), transformer=rules))
    made = Lark(grammar, parser="lalr", start="program", transformer=rules, maybe_placeholders=True)
    data, memo = made.memo_serialize([TerminalDef, Rule])
    del data["options"]["transformer"]
    store_cached("grammar", stamp, marshal.dumps({"data": data, "memo": memo}), valid_prefix=stamp)
    return made


class _TreeBuilder(StatementRules, PatternRules, CorrelationRules, ExpressionRules):
    """The rules of the grammar, called while the text is parsed."""
