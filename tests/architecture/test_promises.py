"""The promises of the architecture (CONTRIBUTING.md), each as a lint over the source."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "foretell"
SOURCES = sorted(PACKAGE.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}


def place(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(PACKAGE)}:{getattr(node, 'lineno', 0)}"


def imports_of(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node, f"{'.' * node.level}{node.module or ''}"


def test_kernels_import_numpy_and_numba_alone() -> None:
    allowed = ("numpy", "numba", "foretell.machine.kernels")
    wrong = [
        f"{place(path, node)} imports {name}"
        for path in SOURCES
        if path.is_relative_to(PACKAGE / "machine" / "kernels")
        for node, name in imports_of(TREES[path])
        if name.partition(".")[0] not in sys.stdlib_module_names and not name.startswith(allowed)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_machine_imports_nothing_of_the_language() -> None:
    wrong = [
        f"{place(path, node)} imports {name}"
        for path in SOURCES
        if path.is_relative_to(PACKAGE / "machine")
        for node, name in imports_of(TREES[path])
        if name.startswith("foretell.language")
    ]
    assert not wrong, "\n".join(wrong)


def test_class_names_are_unique() -> None:
    """Private classes of different modules too: a name that means two things is one name too few."""
    names = Counter(node.name for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 1] == []


#: Words of the field that end as participles do but name a thing.
NOUNS = {
    "arrival_ring", "arrival_tracking", "checked", "finding", "forecasting", "partitioning", "planning",
    "prefix_sharing", "quenching", "rendering", "scalar_parsing", "streaming", "training",
}  # fmt: skip
NOT_NOUNS = re.compile(r"(^|_)(\w+ing|\w+ed|told|fed|kept|given|shown|said|bound|here|together|written|seen|known)$")


def test_modules_are_nouns() -> None:
    stems = {path.stem for path in SOURCES} | {path.parent.name for path in SOURCES}
    wrong = sorted(stem for stem in stems if NOT_NOUNS.search(stem) and stem not in NOUNS)
    assert wrong == []


#: With more arguments by position a reader has to count.
MOST_POSITIONAL = 8


def test_values_are_made_with_named_fields() -> None:
    """Constructors only: Numba's kernels take no keywords."""
    wrong = [
        f"{place(path, node)}: {node.func.id} with {len(node.args)} positional arguments"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and (node.func.id == "cls" or node.func.id.lstrip("_")[:1].isupper())
        and len(node.args) > MOST_POSITIONAL
    ]
    assert not wrong, "\n".join(wrong)


def test_no_function_has_many_parameters() -> None:
    """Arrays that belong together travel as a NamedTuple; options as keywords."""
    wrong = [
        f"{place(path, node)}: {node.name} has {len(node.args.args)} parameters"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and len(node.args.args) > 13
    ]
    assert not wrong, "\n".join(wrong)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool)


def test_values_that_cross_a_stage_have_named_fields() -> None:
    """No `given[3][1]`, no `edges[:, 6]`."""
    wrong = []
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Subscript):
                continue
            index, inner = node.slice, node.value
            nested = _is_number(index) and isinstance(inner, ast.Subscript) and _is_number(inner.slice)
            column = (
                isinstance(index, ast.Tuple)
                and len(index.elts) == 2
                and isinstance(index.elts[0], ast.Slice)
                and _is_number(index.elts[1])
                and ast.literal_eval(index.elts[1]) > 1
            )
            if nested or column:
                wrong.append(f"{place(path, node)}: {ast.unparse(node)}")
    assert not wrong, "\n".join(wrong)


def test_registers_are_values() -> None:
    """Neither named by f-strings nor asked by prefix."""
    wrong = [
        f"{place(path, node)}: {ast.unparse(node)}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Register"
        and any(isinstance(part, ast.JoinedStr) for argument in node.args for part in ast.walk(argument))
    ]
    assert not wrong, "\n".join(wrong)


#: Pronouns and participles that name nothing: a variable is named by what it holds.
PRONOUNS = {"one", "ones", "said", "some", "here", "there", "told", "whatever", "standing", "what", "who"}
#: `some` is a word of the builder: `step.some()`.
ALLOWED_PRONOUNS = {("language/builder/patterns.py", "some")}


def names_given(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node, node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.arg):
            yield node, node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node, node.name


def test_no_pronoun_is_a_variable() -> None:
    wrong = [
        f"{place(path, node)}: {name}"
        for path, tree in TREES.items()
        for node, name in names_given(tree)
        if name.strip("_").lower() in PRONOUNS - {"one"} or name.strip("_") == "one"
        if (str(path.relative_to(PACKAGE)), name) not in ALLOWED_PRONOUNS
    ]
    assert not wrong, "\n".join(wrong)


def test_no_docstring_begins_with_a_pronoun() -> None:
    """Its first words are the subject, in the terms of the field."""
    wrong = [
        f"{place(path, node)}: {text.splitlines()[0]}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if re.match(r"(What|Who|Whatever|Whoever|Whom)\b", text := ast.get_docstring(node) or "")
    ]
    assert not wrong, "\n".join(wrong)


#: Of the library itself kernels alone may be longer than most files, as flat loops; none is this long.
MOST_LINES = 450


def test_no_module_is_long() -> None:
    lengths = {str(path.relative_to(PACKAGE)): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {path: length for path, length in lengths.items() if length > MOST_LINES} == {}


TESTS = sorted(path for path in (PACKAGE.parents[1] / "tests").rglob("*.py"))


def test_tests_import_no_private_names() -> None:
    wrong = [
        f"{path}:{node.lineno}: {alias.name}"
        for path in TESTS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("foretell")
        for alias in node.names
        if alias.name.startswith("_")
    ]
    assert not wrong, "\n".join(wrong)


def test_no_error_is_swallowed() -> None:
    """Neither a bare `except`, nor one of all exceptions that goes on as if nothing had happened."""
    wrong = []
    for path in [*SOURCES, *TESTS]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ExceptHandler):
                continue
            catches_all = node.type is None or (
                isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")
            )
            if catches_all and all(isinstance(part, ast.Continue | ast.Pass) for part in node.body):
                wrong.append(f"{path}:{node.lineno}")
    assert wrong == []


@pytest.mark.parametrize("page", ["CONTRIBUTING.md"])
def test_files_that_a_page_names_exist(page: str) -> None:
    text = (PACKAGE.parents[1] / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:[\w]+/)*[\w]+\.(?:py|toml|lark|md)|(?:[\w]+/)+)`", text)
    missing = [path for path in named if not any((folder / path).exists() for folder in (PACKAGE.parents[1], PACKAGE))]
    assert len(named) > 40
    assert missing == []
